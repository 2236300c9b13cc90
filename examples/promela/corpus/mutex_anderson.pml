/* Anderson's array lock: a ticket tells the slot to wait at. -D BUG: fewer slots than processes. */
#ifndef N
#define N 3
#endif
#ifdef BUG
#define S 2
#else
#define S N
#endif
#ifndef R
#define R 2
#endif
bool slot[S];
byte next, critical;

active [N] proctype P() {
	byte my, r;
	for (r : 1 .. R) {
		d_step { my = next % S; next++ };
		slot[my];
		slot[my] = false;
		critical++;
		assert(critical == 1);
		critical--;
		slot[(my + 1) % S] = true
	}
}

init { slot[0] = true }
