/* Selective repeat: both sides have windows of W; numbers are taken modulo M. With M < 2W (-D
   M=3) an old message is taken for a new one. */
#ifndef W
#define W 2
#endif
#ifndef M
#define M 4
#endif
#ifndef C
#define C 2
#endif
chan data = [C] of { byte, byte };
chan acks = [C] of { byte };

active proctype Sender() {
	byte base, a, i, v;
	bool acked[M];
	byte kept[M];
	byte next;
	do
	:: (next + M - base) % M < W ->
	   atomic { kept[next] = v; acked[next] = false; v = (v + 1) % 3; next = (next + 1) % M }
	:: base != next && nfull(data) ->
	   atomic {
	      i = base;
	      do
	      :: i != next && !acked[i] && nfull(data) -> data!i,kept[i]; break
	      :: i != next -> i = (i + 1) % M
	      :: i == next -> break
	      od;
	      i = 0
	   }
	:: atomic { acks?a ->
	   if
	   :: (a + M - base) % M < (next + M - base) % M -> acked[a] = true
	   :: else
	   fi;
	   do
	   :: base != next && acked[base] -> acked[base] = false; kept[base] = 0; base = (base + 1) % M
	   :: else -> break
	   od;
	   a = 0 }
	od
}

active proctype Receiver() {
	byte base, s, p, want;
	bool have[M];
	byte got[M];
	do
	:: atomic { data?s,p ->
	   if
	   :: (s + M - base) % M < W ->
	      have[s] = true; got[s] = p
	   :: else
	   fi;
	   do
	   :: have[base] ->
	      assert(got[base] == want);
	      want = (want + 1) % 3;
	      have[base] = false; got[base] = 0;
	      base = (base + 1) % M
	   :: else -> break
	   od;
	   p = 0 };
	   if
	   :: acks!s
	   :: skip
	   fi;
	   s = 0
	od
}

active proctype Loss() {
	do
	:: data?_,_
	od
}
