/* Chang and Roberts with exclusive channels (xr, xs) and an announcement that goes round.
   -D BUG: a node forwards numbers below its own, too. */
#ifndef N
#define N 4
#endif
chan q[N] = [N] of { byte, bit };
byte leaders;

proctype Node(chan in, out; byte id) {
	byte n;
	bit over;
	xr in;
	xs out;
	out!id, 0;
	do
	:: in?n, over ->
	   if
	   :: over && n == id -> break
	   :: over && n != id -> out!n, 1; break
	   :: !over && n == id -> leaders++; assert(leaders == 1); out!id, 1
#ifdef BUG
	   :: !over && n != id -> out!n, 0
#else
	   :: !over && n > id -> out!n, 0
	   :: !over && n < id -> skip
#endif
	   fi
	od
}

init {
	byte i;
	atomic { for (i : 0 .. N - 1) { run Node(q[i], q[(i + 1) % N], (i * 2) % N + 1 + i * 2 / N) } }
}
