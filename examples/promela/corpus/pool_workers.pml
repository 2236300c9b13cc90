/* A pool of workers: jobs over one channel, results over another, and an end mark for each
   worker. -D BUG: one end mark too few. */
#ifndef W
#define W 2
#endif
#ifndef J
#define J 4
#endif
chan jobs = [2] of { byte };
chan results = [2] of { byte };

active [W] proctype Worker() {
	byte j;
	do
	:: jobs?j ->
	   if
	   :: j == 0 -> break
	   :: else -> j = j * 2; results!j
	   fi
	od
}

active proctype Producer() {
	byte j;
	xs jobs;
	for (j : 1 .. J) { jobs!j }
#ifdef BUG
	for (j : 2 .. W) { jobs!0 }
#else
	for (j : 1 .. W) { jobs!0 }
#endif
}

active proctype Consumer() {
	byte i, r, sum;
	xr results;
	for (i : 1 .. J) { results?r; sum = sum + r }
	assert(sum == J * (J + 1))
}
