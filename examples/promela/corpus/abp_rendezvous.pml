/* The alternating bit protocol with rendezvous and a line between that loses and repeats.
   -D BUG gives the acknowledgement no number. */
mtype = { msg, ack };
chan s2l = [0] of { mtype, byte, bit };
chan l2r = [0] of { mtype, byte, bit };
chan r2l = [0] of { mtype, bit };
chan l2s = [0] of { mtype, bit };

active proctype Sender() {
	bit seq;
	byte v = 1;
	do
	:: s2l!msg(v, seq)
#ifdef BUG
	:: l2s?ack(_) ->
#else
	:: l2s?ack(eval(1 - seq))
	:: l2s?ack(eval(seq)) ->
#endif
	   seq = 1 - seq;
	   v = v % 3 + 1
	od
}

active proctype Forward() {
	byte v;
	bit b;
	do
	:: s2l?msg(v, b) ->
	   do
	   :: l2r!msg(v, b) -> if :: break :: skip fi
	   :: break
	   od
	od
}

active proctype Back() {
	bit b;
	do
	:: r2l?ack(b) ->
	   if
	   :: l2s!ack(b)
	   :: skip
	   fi
	od
}

active proctype Receiver() {
	byte v, last;
	bit b, seq = 1;
	do
	:: l2r?msg(v, b) ->
	   if
	   :: b != seq ->
	      assert(v == last % 3 + 1);
	      last = v;
	      seq = b
	   :: else
	   fi
	:: r2l!ack(seq)
	od
}
