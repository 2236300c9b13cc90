/* A tournament: 2 N players send their numbers to N judges, these to a table, by rendezvous. */
#ifndef N
#define N 3
#endif
chan q[N] = [0] of { byte };
chan table = [0] of { byte };

proctype Player(byte i) { byte v; select (v : 1 .. 2); q[i / 2]!v }

proctype Judge(byte i) {
	byte a, b;
	q[i]?a;
	q[i]?b;
	if :: a < b -> a = b :: else fi;
	table!a
}

init {
	byte i, v, max;
	atomic { for (i : 0 .. 2 * N - 1) { run Player(i) } }
	atomic { for (i : 0 .. N - 1) { run Judge(i) } }
	for (i : 1 .. N) { table?v; if :: v > max -> max = v :: else fi }
	assert(max == 1 || max == 2)
}
