/* hanoi.pml: the towers of Hanoi; the twin of hanoi.model. */
#ifndef N
#define N 11
#endif

byte peg[N];
byte top[3];	/* the smallest disk of each peg, or N */

#define move(from, to) :: d_step { top[from] < top[to] ->	\
		peg[top[from]] = to;					\
		top[to] = top[from];					\
		top[from]++;						\
		do							\
		:: top[from] < N && peg[top[from]] != from -> top[from]++	\
		:: else -> break					\
		od; skip }

active proctype Player() {
	d_step { top[1] = N; top[2] = N }
	do
	move(0, 1)
	move(0, 2)
	move(1, 0)
	move(1, 2)
	move(2, 0)
	move(2, 1)
	od
}
