/* The bounded retransmission protocol: a file of K chunks, at most R repetitions of each. Sender
   and receiver report to their clients. -D BUG: the sender says NOK where it cannot know. */
#ifndef K
#define K 3
#endif
#ifndef R
#define R 2
#endif
mtype = { OK, NOK, DK, INC, NONE };
chan k = [1] of { bit, bit, bit };     /* first, last, number */
chan l = [1] of { bit };
mtype srep = NONE, rrep = NONE;

active proctype Sender() {
	byte i = 1, tries;
	bit ab;
	do
	:: i <= K ->
	   tries = 0;
again:	   k!(i == 1),(i == K),ab;
	   if
	   :: l?_ -> ab = 1 - ab; i++
	   :: timeout ->
	      if
	      :: tries < R -> tries++; goto again
	      :: else ->
#ifdef BUG
	         srep = NOK;
#else
	         srep = (i == K -> DK : NOK);
#endif
	         assert(!(srep == NOK && rrep == OK));
	         break
	      fi
	   fi
	:: else ->
	   assert(rrep == OK);
	   srep = OK;
	   break
	od
}

active proctype Receiver() {
	bit f, la, n, expect;
end:	do
	:: k?f,la,n ->
	   if
	   :: n == expect ->
	      expect = 1 - expect;
	      rrep = (la -> OK : INC)
	   :: else
	   fi;
	   assert(!(rrep == OK && srep == NOK));
	   l!expect
	od
}

active proctype Thief() {
end:	do
	:: k?_,_,_
	:: l?_
	od
}
