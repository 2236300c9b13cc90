/* MESI with requests as messages to a bus process, which asks every cache in turn.
   -D BUG gives a reader the line exclusively although another one shares it. */
#ifndef N
#define N 3
#endif
mtype = { I, S, E, M, rd, rdx, done };
chan req = [0] of { mtype, byte };
chan grant[N] = [0] of { mtype };
mtype st[N] = I;

active proctype Bus() {
	byte who, k;
	mtype what;
	bool others;
end:	do
	:: req?what(who) ->
	   others = false;
	   d_step {
	      k = 0;
	      do
	      :: k < N ->
	         if
	         :: k != who && st[k] != I ->
	            others = true;
	            st[k] = (what == rd -> S : I)
	         :: else
	         fi;
	         k++
	      :: else -> break
	      od;
	      k = 0
	   };
	   if
	   :: what == rdx -> grant[who]!M
#ifdef BUG
	   :: what == rd -> grant[who]!E
#else
	   :: what == rd && others -> grant[who]!S
	   :: what == rd && !others -> grant[who]!E
#endif
	   fi
	od
}

active [N] proctype Cache() {
	byte me = _pid - 1;
	mtype got;
	do
	:: st[me] == I ->
	   if
	   :: req!rd(me)
	   :: req!rdx(me)
	   fi;
	   atomic { grant[me]?got -> st[me] = got }
	:: atomic { st[me] == E -> st[me] = M }
	:: st[me] == S ->
	   req!rdx(me);
	   atomic { grant[me]?got -> st[me] = got }
	:: st[me] = I
	od
}

active proctype Monitor() {
	byte a, b;
end:	do
	:: d_step {
	      a = 0;
	      do
	      :: a < N ->
	         b = 0;
	         do
	         :: b < N ->
	            assert(!(a != b && (st[a] == M || st[a] == E) && st[b] != I));
	            b++
	         :: else -> break
	         od;
	         a++
	      :: else -> break
	      od;
	      a = 0; b = 0 }
	od
}
