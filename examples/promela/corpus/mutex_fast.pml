/* Lamport's fast mutual exclusion. Without contention seven accesses are enough.
   -D BUG does not wait for the others' flags. */
#ifndef N
#define N 2
#endif
byte x, y;
bool b[N];
byte inside;

active [N] proctype P() {
	byte j, me = _pid + 1;
start:
	b[_pid] = true;
	x = me;
	if
	:: y != 0 ->
	   b[_pid] = false;
	   y == 0;
	   goto start
	:: else
	fi;
	y = me;
	if
	:: x != me ->
	   b[_pid] = false;
#ifndef BUG
	   for (j : 0 .. N - 1) {
	      !b[j]
	   }
#endif
	   if
	   :: y != me -> y == 0; goto start
	   :: else
	   fi
	:: else
	fi;
	inside++;
	assert(inside == 1);
	inside--;
	y = 0;
	b[_pid] = false;
	goto start
}
