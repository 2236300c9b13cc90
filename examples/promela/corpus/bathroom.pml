/* A bathroom for both, but never for both at once. -D BUG: who comes second does not look. */
#ifndef N
#define N 2
#endif
byte inside[2];
bit m;

proctype Person(bit sex) {
	byte r;
	for (r : 1 .. 2) {
#ifdef BUG
		inside[1 - sex] == 0;
		inside[sex]++;
#else
		atomic { m == 0 && inside[1 - sex] == 0 -> inside[sex]++ };
#endif
		assert(inside[1 - sex] == 0);
		inside[sex]--
	}
}

init { byte i; atomic { for (i : 1 .. N) { run Person(0); run Person(1) } } }
