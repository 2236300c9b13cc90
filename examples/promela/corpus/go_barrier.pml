/* A barrier of channels: all arrive, and the coordinator lets each go. -D BUG: all leave by
   one channel, and a fast one takes the leave of a slow one. */
#ifndef N
#define N 3
#endif
#ifndef R
#define R 2
#endif
chan arrive = [N] of { bit };
#ifdef BUG
#define OF(i) 0
#else
#define OF(i) i
#endif
chan leave[N] = [N] of { bit };
byte at[N];

active [N] proctype P() {
	byte r, i;
	for (r : 1 .. R) {
		at[_pid] = r;
		arrive!0;
		leave[OF(_pid)]?_;
		i = 0;
		do
		:: i < N -> assert(at[i] + 1 >= r); i++
		:: else -> break
		od
	}
}

active proctype Coordinator() {
	byte r, i;
	xr arrive;
	for (r : 1 .. R) {
		for (i : 1 .. N) { arrive?_ }
		for (i : 0 .. N - 1) { leave[OF(i)]!0 }
	}
}
