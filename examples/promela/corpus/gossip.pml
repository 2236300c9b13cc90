/* Gossip: N people know one secret each; a call makes both know what either does. The fewest calls that
   suffice are 2N-4 for N >= 4: with LIMIT one less the assertion holds. */
#ifndef N
#define N 4
#endif
#ifndef LIMIT
#define LIMIT 3
#endif
byte knows[N];
byte calls;

init {
	byte a, b;
	for (a : 0 .. N - 1) { knows[a] = 1 << a }
	a = 0;
	do
	:: calls < LIMIT ->
	   atomic {
	      select (a : 0 .. N - 2);
	      select (b : 1 .. N - 1);
	      if
	      :: a < b -> knows[a] = knows[a] | knows[b]; knows[b] = knows[a]; calls++
	      :: else
	      fi;
	      a = 0; b = 0
	   }
	:: else -> break
	od;
	for (b : 0 .. N - 1) {
		a = a + (knows[b] == (1 << N) - 1)
	}
	assert(a < N)
}
