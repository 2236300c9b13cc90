/* Several producers, one channel, and a closer that waits for all of them. */
#ifndef P
#define P 3
#endif
#ifndef K
#define K 2
#endif
chan merged = [1] of { byte };
chan finished = [0] of { bit };

active [P] proctype Producer() { byte k; for (k : 1 .. K) { merged!k } finished!0 }

active proctype Closer() { byte i; for (i : 1 .. P) { finished?_ } merged!0 }

active proctype Consumer() {
	byte v, n;
	do
	:: merged?v ->
	   if
	   :: v == 0 -> break
	   :: else -> n++
	   fi
	od;
	assert(n == P * K)
}
