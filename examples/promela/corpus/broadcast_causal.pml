/* Causal broadcast with vector clocks: an answer is not delivered before what it answers.
   -D BUG: messages are delivered as they come. */
chan c[3] = [3] of { byte, byte, byte };	/* sender, and its clock of 0 and 1 */
byte got[3];

active proctype Asker() { c[1]!0, 1, 0; c[2]!0, 1, 0 }

active proctype Answerer() {
	byte s, x, y;
	c[1]?s, x, y;
	got[1] = x;
	c[2]!1, 1, 1;
	c[0]!1, 1, 1
}

active proctype Listener() {
	byte s, x, y, v0, v1, n;
	do
	:: n < 2 ->
	   c[2]?s, x, y;
#ifdef BUG
	   n++;
	   if :: s == 0 -> v0 = x :: else -> assert(v0 >= x); v1 = y fi
#else
	   if
	   :: s == 0 -> v0 = x; n++
	   :: s == 1 && v0 >= x -> v1 = y; n++
	   :: else -> c[2]!s, x, y
	   fi
#endif
	:: else -> break
	od;
	assert(v0 == 1 && v1 == 1)
}

active [2] proctype Chatter() { byte k; do :: k < 5 -> k++ :: else -> break od }

active proctype Sink() { byte s, x, y; c[0]?s, x, y; assert(s == 1) }
