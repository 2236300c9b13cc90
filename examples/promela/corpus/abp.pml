/* The alternating bit protocol over channels that lose messages. -D BUG: the receiver does
   not look at the bit. */
#ifndef C
#define C 1
#endif
chan data = [C] of { byte, bit };
chan ack = [C] of { bit };
byte sent;

active proctype Sender() {
	byte payload;
	bit b, a;
	do
	:: data!payload(b) ->
	   if
	   :: ack?a ->
	      if
	      :: a == b -> b = 1 - b; payload = (payload + 1) % 4
	      :: else
	      fi
	   :: timeout
	   fi
	od
}

active proctype Receiver() {
	byte got, want;
	bit b, expect;
	do
	:: data?got(b) ->
	   if
#ifdef BUG
	   :: true ->
#else
	   :: b == expect ->
#endif
	      assert(got == want);
	      want = (want + 1) % 4;
	      expect = 1 - expect;
progress:     skip
	   :: else
	   fi;
	   if
	   :: ack!b
	   :: skip
	   fi
	od
}

active proctype Line() {
	do
	:: data?_,_
	:: timeout
	od
}
