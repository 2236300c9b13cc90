/* Files in pieces over a line that loses and repeats, with the alternating bit. */
#ifndef K
#define K 4             /* pieces */
#endif
#ifndef P
#define P 2             /* pairs of sender and receiver */
#endif

mtype = { msg, ack };
chan there[P] = [2] of { mtype, bit, byte };
chan back[P] = [2] of { mtype, bit };

active [P] proctype Sender() {
	bit b, c;
	byte piece;
	do
	:: piece < K ->
	   there[_pid]!msg(b, piece);
	   if
	   :: back[_pid]?ack(c) ->
	      if
	      :: c == b -> b = 1 - b; piece++
	      :: else
	      fi
	   :: timeout
	   fi
	:: else -> break
	od
}

active [P] proctype Receiver() {
	bit b, want;
	byte piece, got;
end:
	do
	:: there[_pid - P]?msg(b, piece) ->
	   if
	   :: b == want -> assert(piece == got); got++; want = 1 - want
	   :: else
	   fi;
	   if
	   :: back[_pid - P]!ack(b)
	   :: skip
	   fi
	:: there[_pid - P]?msg(_, _)
	od
}
