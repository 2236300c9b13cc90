/* Total order by a sequencer: everybody delivers the same sequence. -D BUG: messages go to all
   directly. */
#ifndef N
#define N 2
#endif
#ifndef R
#define R 3
#endif
chan seq = [N] of { byte };
chan out[R] = [N] of { byte };
byte got[R * N];

active [N] proctype Sender() {
	byte k;
#ifdef BUG
	for (k : 0 .. R - 1) { out[k]!_pid }
#else
	seq!_pid
#endif
}

active proctype Sequencer() {
	byte i, k, v;
	xr seq;
#ifndef BUG
	for (i : 1 .. N) { seq?v; for (k : 0 .. R - 1) { out[k]!v } }
#endif
}

active [R] proctype Receiver() {
	byte i, v, me = _pid - N - 1;
	for (i : 0 .. N - 1) { out[me]?v; got[me * N + i] = v + 1 }
	for (i : 0 .. R - 1) { assert(got[i * N] == 0 || got[i * N] == got[me * N]) }
}
