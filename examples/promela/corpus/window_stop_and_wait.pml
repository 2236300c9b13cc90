/* Stop and wait with sequence numbers in a typedef header and checksums that may be wrong. */
#ifndef V
#define V 4
#endif
mtype = { good, bad };
typedef header { bit seq; mtype sum }
typedef frame { header h; byte body }
chan line = [1] of { frame };
chan back = [1] of { bit, mtype };

active proctype Sender() {
	frame f;
	bit a;
	mtype s;
	do
	:: if
	   :: f.h.sum = good
	   :: f.h.sum = bad
	   fi;
	   line!f;
	   back?a,s;
	   if
	   :: s == good && a == f.h.seq ->
	      f.h.seq = 1 - f.h.seq;
	      f.body = (f.body + 1) % V
	   :: else
	   fi
	od
}

active proctype Receiver() {
	frame f;
	bit expect;
	byte want;
	do
	:: line?f ->
	   if
	   :: f.h.sum == good && f.h.seq == expect ->
	      assert(f.body == want);
	      want = (want + 1) % V;
	      expect = 1 - expect
	   :: else
	   fi;
	   if
	   :: back!(1 - expect),good
	   :: back!(1 - expect),bad
	   fi
	od
}
