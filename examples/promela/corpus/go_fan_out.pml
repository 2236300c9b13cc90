/* One source gives numbers by rendezvous to whoever is ready; the sums come back over channels
   of their own. */
#ifndef N
#define N 3
#endif
#ifndef K
#define K 4
#endif
chan src = [0] of { byte };
chan back[N] = [1] of { byte };

proctype Consumer(byte i) {
	byte v, sum;
	do
	:: src?v -> if :: v == 0 -> break :: else -> sum = sum + v fi
	od;
	back[i]!sum
}

init {
	byte i, v, sum;
	for (i : 0 .. N - 1) { run Consumer(i) }
	for (i : 1 .. K) { src!i }
	for (i : 1 .. N) { src!0 }
	for (i : 0 .. N - 1) { back[i]?v; sum = sum + v }
	assert(sum == K * (K + 1) / 2)
}
