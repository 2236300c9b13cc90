/* Depth-first search by a token in a complete network: the token knows who was visited, goes
   to anybody who was not, and else back to where it came from first. */
#ifndef N
#define N 4
#endif
chan c[N] = [1] of { byte, byte };	/* sender, the set of the visited */
byte order[N], n;

proctype Node(byte i) {
	byte father, set, k, steps;
	c[i]?father, set;
	order[n] = i;
	n++;
	set = set | (1 << i);
	do
	:: set != (1 << N) - 1 ->
	   select (k : 0 .. N - 1);
	   if
	   :: (set & (1 << k)) == 0 -> c[k]!i, set; c[i]?_, set
	   :: else
	   fi
	:: else -> break
	od;
	do :: steps < 3 -> steps++ :: else -> break od;
	if
	:: father != i -> c[father]!i, set
	:: else -> assert(n == N)
	fi
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Node(i) } c[0]!0, 0 } }
