/* Dijkstra, Feijen and van Gasteren: a token goes round and is black if somebody was who had
   woken one behind it. -D BUG: nobody becomes black. */
#ifndef N
#define N 3
#endif
#ifndef M
#define M 3
#endif
chan tok[N] = [1] of { bit };
bool active_[N], black[N];
byte sent;

proctype Node(byte i) {
	byte j;
	bit t;
end:	do
	:: atomic { active_[i] && sent < M ->
	      sent++;
	      if :: j = 0 :: j = N - 1 fi;
	      active_[j] = true;
#ifndef BUG
	      if :: j > i -> black[i] = true :: else fi
#endif
	   }
	:: atomic { active_[i] -> active_[i] = false }
	:: !active_[i] && tok[i]?[_] ->
	   tok[i]?t;
	   if
	   :: i == 0 ->
	      if
	      :: t == 0 && !black[0] && !active_[0] ->
	         assert(!active_[1] && !active_[N - 1]);
	         goto over
	      :: else -> black[0] = false; tok[N - 1]!0
	      fi
	   :: else -> atomic { tok[i - 1]!(t || black[i]); black[i] = false }
	   fi
	od;
over:	skip
}

init {
	byte i;
	atomic {
		for (i : 0 .. N - 1) { active_[i] = true; run Node(i) }
		tok[N - 1]!1
	}
}
