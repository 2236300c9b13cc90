/* A sorting network of four lines: comparators as processes that are joined by channels. -D BUG leaves the
   last comparator out. */
chan w0[3] = [1] of { byte };
chan w1[4] = [1] of { byte };
chan w2[4] = [1] of { byte };
chan w3[3] = [1] of { byte };

proctype compare(chan a, b, x, y) {
	byte p, q;
	a?p;
	b?q;
	if
	:: p <= q -> x!p; y!q
	:: else -> x!q; y!p
	fi
}

init {
	byte i, x, v[4];
	for (i : 0 .. 3) { select (x : 0 .. 2); v[i] = x }
	atomic {
		run compare(w0[0], w1[0], w0[1], w1[1]);
		run compare(w2[0], w3[0], w2[1], w3[1]);
		run compare(w0[1], w2[1], w0[2], w2[2]);
		run compare(w1[1], w3[1], w1[2], w3[2]);
#ifndef BUG
		run compare(w1[2], w2[2], w1[3], w2[3])
#endif
	}
	w0[0]!v[0]; w1[0]!v[1]; w2[0]!v[2]; w3[0]!v[3];
#ifdef BUG
	w0[2]?v[0]; w1[2]?v[1]; w2[2]?v[2]; w3[2]?v[3];
#else
	w0[2]?v[0]; w1[3]?v[1]; w2[3]?v[2]; w3[2]?v[3];
#endif
	assert(v[0] <= v[1] && v[1] <= v[2] && v[2] <= v[3])
}
