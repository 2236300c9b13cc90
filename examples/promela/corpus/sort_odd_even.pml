/* Odd-even transposition sort by N processes that exchange values with their neighbours
   by rendezvous, in N rounds. */
#ifndef N
#define N 4
#endif
chan r[N] = [0] of { byte };     /* from i to i+1 */
chan l[N] = [0] of { byte };     /* from i+1 to i */
byte final[N];
byte done;

proctype cell(byte me; byte v) {
	byte round, w;
	do
	:: round < N ->
	   if
	   :: (round + me) % 2 == 0 && me < N - 1 ->
	      r[me]!v;
	      l[me]?w;
	      v = (w < v -> w : v)
	   :: (round + me) % 2 == 1 && me > 0 ->
	      r[me - 1]?w;
	      l[me - 1]!v;
	      v = (w > v -> w : v)
	   :: else
	   fi;
	   w = 0;
	   round++
	:: else -> break
	od;
	final[me] = v;
	done++
}

init {
	byte i;
	atomic {
		for (i : 0 .. N - 1) { run cell(i, (N - i) * 3 % 7) }
	}
	done == N;
	for (i : 1 .. N - 1) { assert(final[i - 1] <= final[i]) }
}
