/* Hillis and Steele: prefix sums in rounds, in which i sends to i + 2^r. */
#ifndef N
#define N 4
#endif
chan c[3 * N] = [1] of { byte };	/* c[r * N + i] goes to i in round r */

proctype P(byte i) {
	byte v = i + 1, w, r, d = 1;
	do
	:: d < N ->
	   if :: i + d < N -> c[r * N + i + d]!v :: else fi;
	   if :: i >= d -> c[r * N + i]?w; v = v + w :: else fi;
	   d = d * 2;
	   r++
	:: else -> break
	od;
	assert(v == (i + 1) * (i + 2) / 2)
}

init { byte i; atomic { for (i : 0 .. N - 1) { run P(i) } } }
