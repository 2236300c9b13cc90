/* Children end before their parents: each process creates one more, waits until it has ended
   (by the number of processes), and ends. */
#ifndef N
#define N 5
#endif
byte work;

proctype P(byte n) {
	byte mine;
	if
	:: n > 0 -> run P(n - 1); mine = n; work++; _nr_pr == N + 2 - n
	:: else -> mine = 1; work++
	fi;
	assert(mine > 0)
}

proctype Other() { byte k; do :: k < 3 -> k++ :: k == 3 -> break od }

init { run Other(); _nr_pr == 1; run P(N); _nr_pr == 1; assert(work == N + 1) }
