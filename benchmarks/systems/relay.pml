/* relay.pml: N processes hand values on through channels without buffers; the twin of
 * relay.model. */
#ifndef N
#define N 6
#endif
#ifndef V
#define V 4
#endif

chan pipe[N] = [0] of { byte };

active [N - 1] proctype Relay() {
	byte v;
	do
	:: pipe[_pid]?v;
	   pipe[_pid + 1]!v
	od
}

active proctype Source() {
	byte v;
	do
	:: pipe[0]!v;
	   v = (v + 1) % V
	od
}

active proctype Sink() {
	byte want, v;
	do
	:: pipe[N - 1]?v;
	   assert(v == want);
	   want = (want + 1) % V
	od
}
