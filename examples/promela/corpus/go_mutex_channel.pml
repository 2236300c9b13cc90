/* A channel of one place as a lock around a counter. -D BUG: one of them does without. */
#ifndef N
#define N 3
#endif
#ifndef K
#define K 2
#endif
chan lock = [1] of { bit };
byte n, ended;

active [N] proctype Adder() {
	byte k, v;
	for (k : 1 .. K) {
#ifdef BUG
		if :: _pid > 0 -> lock!0 :: else fi;
#else
		lock!0;
#endif
		v = n;
		v++;
		n = v;
#ifdef BUG
		if :: _pid > 0 -> lock?_ :: else fi
#else
		lock?_
#endif
	}
	ended++
}

active proctype Check() { ended == N; assert(n == N * K) }
