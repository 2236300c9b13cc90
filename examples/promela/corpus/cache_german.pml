/* German's protocol: clients ask a home node for shared or exclusive copies; it invalidates
   others first. -D BUG: it grants without waiting for invalidations. */
#ifndef N
#define N 2
#endif
mtype = { reqS, reqE, inv, invack, grantS, grantE, I, S, E };
chan up[N] = [1] of { mtype };
chan down[N] = [1] of { mtype };
chan acks[N] = [1] of { mtype };
mtype cache[N] = I;

inline coherent() {
	d_step {
		j = 0; e = 0; s = 0;
		do
		:: j < N -> if :: cache[j] == E -> e++ :: cache[j] == S -> s++ :: else fi; j++
		:: else -> break
		od;
		assert(e == 0 || e == 1 && s == 0)
	}
}

proctype Client(byte i) {
	mtype m;
	byte j, e, s;
	bit asked;
end:	do
	:: cache[i] == I && !asked -> up[i]!reqS; asked = 1
	:: cache[i] != E && !asked -> up[i]!reqE; asked = 1
	:: down[i]?m ->
	   if
	   :: m == inv -> cache[i] = I; acks[i]!invack
	   :: m == grantS -> cache[i] = S; asked = 0
	   :: m == grantE -> cache[i] = E; asked = 0
	   fi;
	   coherent()
	od
}

active proctype Home() {
	byte i, k;
	bool has[N], exclusive;
	mtype m;
	atomic { for (i : 0 .. N - 1) { run Client(i) } i = 0 }
end:	do
	:: up[i]?m ->
	   if
	   :: m == reqE || exclusive ->
	      k = 0;
	      do
	      :: k < N && has[k] ->
	         down[k]!inv;
#ifndef BUG
	         acks[k]?_;
#endif
	         has[k] = false;
	         k++
	      :: k < N && !has[k] -> k++
	      :: k == N -> break
	      od;
	      exclusive = false
	   :: else
	   fi;
	   has[i] = true;
	   if
	   :: m == reqE -> exclusive = true; down[i]!grantE
	   :: else -> down[i]!grantS
	   fi
	:: empty(up[i]) && (N > 1 && nempty(up[(i + 1) % N])) -> i = (i + 1) % N
	od
}
