/* A sequence lock: readers try again if the number is odd or has changed. -D BUG: the reader
   does not look whether it is odd. */
#ifndef R
#define R 1
#endif
byte seq, a, b;

active proctype Writer() {
	do
	:: seq = (seq + 1) % 8;
	   a = (a + 1) % 3;
	   b = (b + 1) % 3;
	   seq = (seq + 1) % 8
	od
}

active [R] proctype Reader() {
	byte s, x, y;
	do
	:: s = seq;
#ifndef BUG
	   if
	   :: s % 2 == 1 -> goto over
	   :: else
	   fi;
#endif
	   x = a;
	   y = b;
	   if
	   :: seq == s && x != y ->
	      /* seven more changes can have made the number the same again */
	      assert(s % 2 == 0)
	   :: else
	   fi;
over:	   skip;
	   d_step { s = 0; x = 0; y = 0 }
	od
}
