/* Sorting in a pipeline: each stage keeps the smaller number, and passes the larger one on to a
   stage that it creates when it needs it. */
#ifndef N
#define N 5
#endif
chan result = [N] of { byte };

proctype stage(chan in) {
	byte mine, v;
	chan next = [0] of { byte };
	bool child;
	in?mine;
	do
	:: in?v ->
	   if
	   :: v == 0 -> break
	   :: else
	   fi;
	   if
	   :: !child -> child = true; run stage(next)
	   :: else
	   fi;
	   if
	   :: v < mine -> next!mine; mine = v
	   :: else -> next!v
	   fi
	od;
	result!!mine;
	if
	:: child -> next!0
	:: else
	fi;
	_nr_pr == _pid + 1
}

init {
	chan first = [0] of { byte };
	byte i, v, last;
	run stage(first);
	for (i : 1 .. N) {
		first!((i * 7) % 11 + 1)
	}
	first!0;
	for (i : 1 .. N) {
		result?v;
		assert(v >= last || i > 0);
		last = v
	}
}
