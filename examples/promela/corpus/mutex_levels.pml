/* the filter lock (Peterson, 1981) for N processes. */
#ifndef N
#define N 3
#endif

byte level[N];
byte last[N];
byte inside;
bool in0;

active [N] proctype P() {
	byte k, j;
	do
	:: d_step { k = 1; level[_pid] = 1 };
		do
		:: k < N ->
			last[k] = _pid;
			j = 0;
			do
			:: j < N && (j == _pid || level[j] < k || last[k] != _pid) -> j++
			:: j == N -> break
			od;
			skip;
			d_step { k++; level[_pid] = (k < N -> k : level[_pid]) }
		:: k == N -> break
		od;
		skip;
		d_step { inside++; in0 = (_pid == 0 -> true : in0); k = 0; j = 0 };
		d_step { inside--; in0 = (_pid == 0 -> false : in0); level[_pid] = 0 }
	od
}

ltl exclusive { [] (inside <= 1) }
ltl waits { [] (level[0] == 1 -> <> in0) }
