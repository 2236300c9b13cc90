/* A daisy chain of goroutines: each adds one to what its right neighbour sends. */
#ifndef N
#define N 8
#endif
chan c[N + 1] = [1] of { byte };

proctype Link(byte i) { byte v; c[i + 1]?v; v++; c[i]!v }

init {
	byte i, v;
	for (i : 0 .. N - 1) { run Link(i) }
	c[N]!0;
	c[0]?v;
	assert(v == N)
}
