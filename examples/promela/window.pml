/* Sliding window with go-back-n over channels that lose messages. W messages may
   be on their way; sequence numbers are taken modulo M > W. */
#ifndef W
#define W 2
#endif
#ifndef M
#define M 4
#endif
#ifndef C
#define C 2             /* capacity of the channels */
#endif

chan data = [C] of { byte, byte };
chan acks = [C] of { byte };

active proctype Sender() {
	byte base, next, payload, a;
	byte kept[M];
end:
	do
	:: (next + M - base) % M < W && nfull(data) ->
	   kept[next] = payload;
	   data!next,payload;
	   payload = (payload + 1) % 3;
	   next = (next + 1) % M
	:: acks?a ->
	   if
	   :: (a + M - base) % M <= (next + M - base) % M -> base = a
	   :: else
	   fi
	:: base != next && nfull(data) -> data!base,kept[base]   /* sent again */
	od
}

active proctype Receiver() {
	byte expected, seq, v, want;
end:
	do
	:: data?seq,v ->
	   if
	   :: seq == expected ->
	      assert(v == want);
	      want = (want + 1) % 3;
	      expected = (expected + 1) % M
	   :: else
	   fi;
	   if
	   :: acks!expected
	   :: skip              /* the acknowledgement is lost */
	   fi
	od
}

active proctype Thief() {
end:
	do
	:: data?_,_
	od
}
