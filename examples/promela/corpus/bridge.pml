/* The bridge at night: four people, one torch, at most two at a time, 1, 2, 5 and 10 minutes.
   -D LIMIT=17 looks for a way that takes at most so long: the assertion fails where there
   is one. */
#ifndef LIMIT
#define LIMIT 16
#endif
byte cost[4];
bool over[4];
byte time;
bool torch;

init {
	byte a, b;
	d_step { cost[0] = 1; cost[1] = 2; cost[2] = 5; cost[3] = 10 };
	do
	:: over[0] && over[1] && over[2] && over[3] -> assert(time > LIMIT); break
	:: time <= LIMIT && !(over[0] && over[1] && over[2] && over[3]) ->
	   atomic {
	      select (a : 0 .. 3);
	      select (b : 0 .. 3);
	      if
	      :: over[a] == torch && over[b] == torch ->
	         over[a] = !torch;
	         over[b] = !torch;
	         time = time + (cost[a] > cost[b] -> cost[a] : cost[b]);
	         torch = !torch
	      :: else
	      fi;
	      a = 0;
	      b = 0
	   }
	:: time > LIMIT -> break
	od
}
