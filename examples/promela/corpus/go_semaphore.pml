/* A buffered channel limits how many work at once. */
#ifndef N
#define N 4
#endif
#ifndef L
#define L 2
#endif
chan sem = [L] of { bit };
byte in;

active [N] proctype Worker() {
	byte x;
	x = _pid;
	sem!0;
	in++;
	assert(in <= L);
	x = x + 1;
	in--;
	sem?_;
	x = 0
}
