/* filter.pml: Peterson's filter lock for N processes, at most 6; the twin of filter.model. */
#ifndef N
#define N 4
#endif

byte level[6];	/* N: in the critical section */
byte last[6];

#define below(k) (k == _pid || level[k] < l)
#define first (below(0) && below(1) && below(2) && below(3) && below(4) && below(5))
#define inside(k) (level[k] == N)

active [N] proctype P() {
	byte l = 1;
	do
	:: level[_pid] = l;
	   last[l] = _pid;
	   if
	   :: atomic { l < N - 1 && (last[l] != _pid || first) -> l++ }
	   :: atomic { l == N - 1 && (last[l] != _pid || first) -> l = 1 };
		level[_pid] = N;
		level[_pid] = 0
	   fi
	od
}

ltl exclusive { [] (inside(0) + inside(1) + inside(2) + inside(3) + inside(4) + inside(5) < 2) }
ltl served { [] ((level[0] == 1) -> <> (level[0] == N)) }	/* not without fairness */
