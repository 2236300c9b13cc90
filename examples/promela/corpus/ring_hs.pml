/* Election in a ring that sends both ways at once: each node forwards a number in its direction
   as long as it is larger than its own. */
#ifndef N
#define N 3
#endif
chan right[N] = [2] of { byte };
chan left[N] = [2] of { byte };
byte leader = 255;

active [N] proctype node() {
	byte v, seen;
	right[(_pid + 1) % N]!_pid;
	left[(_pid + N - 1) % N]!_pid;
end:	do
	:: right[_pid]?v ->
	   if
	   :: v > _pid -> right[(_pid + 1) % N]!v
	   :: v == _pid -> seen++
	   :: else
	   fi
	:: left[_pid]?v ->
	   if
	   :: v > _pid -> left[(_pid + N - 1) % N]!v
	   :: v == _pid -> seen++
	   :: else
	   fi
	:: seen == 2 ->
	   atomic { assert(leader == 255); leader = _pid; seen = 0 }
	od
}

ltl elects { <> (leader == N - 1) }
