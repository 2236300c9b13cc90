/* Dolev, Klawe and Rodeh (and Peterson): an active node compares its number with those of
   its two active neighbours behind it, and stays active if the one in the middle is the
   largest. */
#ifndef N
#define N 4
#endif
mtype = { one, two, winner };
chan q[N] = [2 * N] of { mtype, byte };
byte found;

proctype node(chan in, out; byte id) {
	byte max = id, left, v;
	bool active_ = true;
	xr in;
	xs out;
	out!one(id);
end:	do
	:: in?one(v) ->
	   if
	   :: active_ ->
	      if
	      :: v != max -> out!two(v); left = v
	      :: else ->
	         found++;
	         assert(found == 1);
	         out!winner(max)
	      fi
	   :: else -> out!one(v)
	   fi
	:: in?two(v) ->
	   if
	   :: active_ ->
	      if
	      :: left > v && left > max -> max = left; out!one(left)
	      :: else -> active_ = false
	      fi
	   :: else -> out!two(v)
	   fi
	:: in?winner(v) ->
	   if
	   :: v == id
	   :: else
	   fi;
	   if
	   :: active_
	   :: else -> out!winner(v)
	   fi;
	   break
	od
}

init {
	byte i = 1;
	atomic {
		do
		:: i <= N -> run node(q[i - 1], q[i % N], (N + 2 - i) % N + 1); i++
		:: i > N -> break
		od
	}
}
