/* Mutual exclusion by a token on a ring; the station that holds it may keep it for one
   round. -D BUG starts with two tokens. */
#ifndef N
#define N 5
#endif
chan ring[N] = [1] of { bit };
byte busy;

active [N] proctype Station() {
	bit t;
	if
	:: _pid == 0 -> ring[0]!0
#ifdef BUG
	:: _pid == 2 -> ring[2]!1
#endif
	:: else
	fi;
end:	do
	:: ring[_pid]?t ->
	   if
	   :: busy++;
	      assert(busy == 1);
	      busy--
	   :: skip
	   fi;
	   ring[(_pid + 1) % N]!t
	od
}

ltl passes { [] <> (Station[3]:t == 0 && len(ring[4]) == 1) }
