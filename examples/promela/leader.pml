/* Leader election in a one-way ring (Dolev, Klawe and Rodeh 1982; Peterson 1982):
   in each round the larger neighbour of two survives. */
#ifndef N
#define N 5
#endif
#define I 3             /* who has the smallest number */
#define L (2 * N)       /* channels never block */

mtype = { one, two, winner };
chan q[N] = [L] of { mtype, byte };
byte leaders;

proctype node(chan in, out; byte mynumber) {
	bit alive = 1, knows = 0;
	byte nr, maximum = mynumber, neighbour;
	xr in;
	xs out;
	out!one(mynumber);
end:
	do
	:: in?one(nr) ->
	   if
	   :: alive ->
	      if
	      :: nr != maximum ->
	         out!two(nr);
	         neighbour = nr
	      :: else ->
	         assert(nr == N);
	         knows = 1;
	         out!winner,nr
	      fi
	   :: else -> out!one(nr)
	   fi
	:: in?two(nr) ->
	   if
	   :: alive ->
	      if
	      :: neighbour > nr && neighbour > maximum ->
	         maximum = neighbour;
	         out!one(neighbour)
	      :: else -> alive = 0
	      fi
	   :: else -> out!two(nr)
	   fi
	:: in?winner,nr ->
	   if
	   :: nr != mynumber -> skip
	   :: else -> leaders++; assert(leaders == 1)
	   fi;
	   if
	   :: knows
	   :: else -> out!winner,nr
	   fi;
	   break
	od
}

init {
	byte p;
	atomic {
		p = 1;
		do
		:: p <= N ->
		   run node(q[p - 1], q[p % N], (N + I - p) % N + 1);
		   p++
		:: p > N -> break
		od
	}
}
