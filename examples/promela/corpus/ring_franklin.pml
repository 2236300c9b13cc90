/* Franklin: an active node compares its number with those of its nearest active neighbours on
   both sides, and gives up if one of them is larger. */
#ifndef N
#define N 3
#endif
chan cw[N] = [2] of { byte };	/* cw[i] goes to i from i - 1 */
chan cc[N] = [2] of { byte };	/* cc[i] goes to i from i + 1 */
byte leaders;

proctype Node(byte i, id) {
	byte l, r;
	chan fromL = cw[i];
	chan fromR = cc[i];
	chan toR = cw[(i + 1) % N];
	chan toL = cc[(i + N - 1) % N];
	do
	:: toR!id;
	   toL!id;
	   fromL?l;
	   fromR?r;
	   if
	   :: l == id || r == id -> leaders++; assert(leaders == 1 && id == N); toR!0; fromL?l; break
	   :: else ->
	      if
	      :: l > id || r > id -> goto passive
	      :: else
	      fi
	   fi
	od;
	goto over;
passive:
	do
	:: fromL?l -> toR!l; if :: l == 0 -> break :: else fi
	:: fromR?r -> toL!r
	od;
over:	skip
}

init {
	byte i;
	atomic { for (i : 0 .. N - 1) { run Node(i, (i * 2) % N + 1) } }
}
