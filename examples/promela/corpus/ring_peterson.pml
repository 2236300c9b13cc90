/* Peterson's election in a ring with one direction, with xr and xs: in each phase an active
   node takes the number of its active neighbour if it is a maximum of three. */
#ifndef N
#define N 4
#endif
chan q[N] = [2] of { byte };
byte leaders;

proctype Node(chan in, out; byte id) {
	byte t = id, n1, n2;
	xr in;
	xs out;
	do
	:: out!t;
	   in?n1;
	   if :: n1 == t -> goto won :: else fi;
	   if :: t > n1 -> out!t :: else -> out!n1 fi;
	   in?n2;
	   if
	   :: n1 >= t && n1 >= n2 -> t = n1
	   :: else -> break
	   fi
	od;
	do
	:: in?n1 ->
	   out!n1;
	   if :: n1 == 0 -> goto over :: else fi
	od;
won:	leaders++;
	assert(leaders == 1);
	out!0;
	do
	:: in?n1 -> if :: n1 == 0 -> break :: else fi
	od;
over:	skip
}

init {
	byte i;
	atomic { for (i : 0 .. N - 1) { run Node(q[i], q[(i + 1) % N], i * (N - 1) % N + 1) } }
}
