/* All children are created at once, and joined in order. -D BUG: they share one channel, so
   that the answers come in any order. */
#ifndef N
#define N 5
#endif
chan d[N] = [1] of { byte };

proctype Child(byte i) {
	byte v = i;
	v = v * 2;
	v = v + 1;
#ifdef BUG
	d[0]!v
#else
	d[i]!v
#endif
}

init {
	byte i, x;
	for (i : 0 .. N - 1) { run Child(i) }
	for (i : 0 .. N - 1) {
#ifdef BUG
		d[0]?x;
#else
		d[i]?x;
#endif
		assert(x == 2 * i + 1)
	}
}
