/* Mutual exclusion by a token that carries who was served last (Suzuki and Kasami), with
   requests that are numbered modulo 4. */
#ifndef N
#define N 3
#endif
typedef row { byte rn[N] }
row known[N];
byte ln[N];            /* travels with the token */
chan req[N] = [N] of { byte, byte };
chan token[N] = [1] of { bit };
byte inside;
bool has[N];

active [N] proctype Node() {
	byte k, from, n;
	bool waits, given;
	d_step {
		if
		:: _pid == 0 -> has[0] = true
		:: else
		fi
	};
end:	do
	:: atomic { !waits && !has[_pid] ->
	      waits = true;
	      known[_pid].rn[_pid] = (known[_pid].rn[_pid] + 1) % 4;
	      k = 0;
	      do
	      :: k < N ->
	         if
	         :: k != _pid && nfull(req[k]) -> req[k]!_pid,known[_pid].rn[_pid]
	         :: else
	         fi;
	         k++
	      :: else -> k = 0; break
	      od }
	:: atomic { req[_pid]?from,n -> known[_pid].rn[from] = n; from = 0; n = 0 }
	:: atomic { token[_pid]?_ -> has[_pid] = true; waits = false };
	   inside++;
	   assert(inside == 1);
	   inside--;
	   ln[_pid] = known[_pid].rn[_pid]
	:: atomic { has[_pid] ->
	      given = false;
	      k = (_pid + 1) % N;
	      do
	      :: k != _pid && !given && known[_pid].rn[k] == (ln[k] + 1) % 4 ->
	         has[_pid] = false; token[k]!1; given = true
	      :: k != _pid && !(!given && known[_pid].rn[k] == (ln[k] + 1) % 4) -> k = (k + 1) % N
	      :: k == _pid -> break
	      od;
	      k = 0; given = false }
	od
}
