/* The MCS queue lock: each process spins on a flag of its own, which the one before it
   clears. -D BUG gives the lock away without waiting for the successor's link. */
#ifndef N
#define N 3
#endif
#define NIL 255
typedef node {
	byte next = NIL;
	bool locked
}
node q[N];
byte tail = NIL, inside;

active [N] proctype P() {
	byte pred;
	bool swapped;
	do
	:: q[_pid].next = NIL;
	   atomic { pred = tail; tail = _pid }
	   if
	   :: pred != NIL ->
	      q[_pid].locked = true;
	      q[pred].next = _pid;
	      !q[_pid].locked
	   :: else
	   fi;
	   inside++;
	   assert(inside == 1);
	   inside--;
	   if
	   :: q[_pid].next == NIL ->
	      d_step {
	         if
	         :: tail == _pid -> tail = NIL; swapped = true
	         :: else -> swapped = false
	         fi
	      }
	      if
	      :: swapped -> goto done
	      :: else
	      fi;
#ifndef BUG
	      q[_pid].next != NIL
#endif
	   :: else
	   fi;
	   if
	   :: q[_pid].next < N -> q[q[_pid].next].locked = false
	   :: else
	   fi;
done:      pred = NIL
	od
}
