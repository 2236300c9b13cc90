/* Positive acknowledgement with retransmission over a channel that loses and a timer that
   expires only when nothing is under way. -D BUG: the numbers are not looked at. */
#ifndef K
#define K 5
#endif
#ifndef L
#define L 3
#endif
chan net = [1] of { bit, byte };
chan ack = [1] of { bit };
byte lost;
chan deliver = [1] of { bit, byte };

active proctype Sender() {
	byte k;
	bit s;
	for (k : 1 .. K) {
		do
		:: net!s, k;
		   if
		   :: ack?_ -> s = 1 - s; break
		   :: timeout
		   fi
		od
	}
}

active proctype Network() {
	bit s;
	byte v;
end:	do
	:: net?s, v -> if :: deliver!s, v :: lost < L -> lost++ fi
	od
}


active proctype Receiver() {
	byte n, v;
	bit s, want;
end:	do
	:: deliver?s, v ->
#ifdef BUG
	   n++; assert(v == n);
#else
	   if :: s == want -> n++; assert(v == n); want = 1 - want :: else fi;
#endif
	   if :: ack!s :: lost < L -> lost++ fi
	od
}
