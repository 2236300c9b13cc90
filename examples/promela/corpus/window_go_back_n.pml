/* Go-back-N over channels that lose: the sender sends the window again when nothing else can
   happen. -D BUG: as many sequence numbers as the window is wide. */
#ifndef W
#define W 2
#endif
#ifdef BUG
#define S W
#else
#define S (W + 1)
#endif
#ifndef K
#define K 4
#endif
chan data = [2] of { byte, byte };	/* number, content */
chan acks = [2] of { byte };
byte lost;

active proctype Sender() {
	byte base, next, a;
	do
	:: base < K && next < base + W && next < K ->
	   atomic { if :: data!next % S, next :: lost < 2 -> lost++ fi; next++ }
	:: acks?a ->
	   d_step {
	      if
	      :: base < next && base % S == a -> base++
	      :: base + 1 < next && (base + 1) % S == a -> base = base + 2
	      :: else
	      fi
	   }
	:: timeout && base < K -> next = base
	:: base == K -> break
	od;
end:	do :: acks?a od
}

active proctype Receiver() {
	byte expected, n, v;
end:	do
	:: data?n, v ->
	   if
	   :: n == expected % S -> assert(v == expected); expected++;
	      if :: acks!n :: lost < 2 -> lost++ fi
	   :: else -> if :: acks!(expected + S - 1) % S :: lost < 2 -> lost++ fi
	   fi
	od
}
