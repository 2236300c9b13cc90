/* stabilizing.pml: Dijkstra's self-stabilizing ring of N machines with K values, at most 8, (1974); the twin
 * of stabilizing.model. */
#ifndef N
#define N 6
#endif
#ifndef K
#define K 7
#endif

byte x[N];
byte chosen;	/* how many values */

#define value(v) :: d_step { v < K && chosen == _pid -> chosen++; x[_pid] = v }

active [N] proctype Machine() {
	do
	value(0)
	value(1)
	value(2)
	value(3)
	value(4)
	value(5)
	value(6)
	value(7)
	:: d_step { chosen == N && _pid == 0 && x[0] == x[N - 1] -> x[0] = (x[0] + 1) % K }
	:: d_step { chosen == N && _pid > 0 && x[_pid] != x[(_pid + N - 1) % N] -> x[_pid] = x[_pid - 1] }
	od
}

ltl stable { <> [] (x[1] == x[0] || x[1] == x[2]) }	/* two neighbors of three agree */
ltl quiet { <> [] (x[0] == 0) }				/* does not hold */
