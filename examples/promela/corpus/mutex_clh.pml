/* The CLH lock: a process spins on the node of the one before it, and takes that node over.
   -D BUG keeps its own node instead. */
#ifndef N
#define N 2
#endif
bool busy[N + 1];
byte tail = N, inside;

active [N] proctype P() {
	byte mine = _pid, pred;
	do
	:: busy[mine] = true;
	   atomic { pred = tail; tail = mine };
	   !busy[pred];
	   inside++;
	   assert(inside == 1);
	   inside--;
	   busy[mine] = false;
#ifndef BUG
	   mine = pred
#endif
	od
}
