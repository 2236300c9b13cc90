/* Test-and-test-and-set. -D BUG tests and sets in two steps. */
#ifndef N
#define N 4
#endif
bool lock;
byte inside;

inline acquire() {
	do
	:: !lock ->
#ifdef BUG
	   if
	   :: !lock -> lock = true; break
	   :: else
	   fi
#else
	   bool old;
	   d_step { old = lock; lock = true }
	   if
	   :: !old -> break
	   :: else
	   fi
#endif
	od
}

active [N] proctype P() {
	do
	:: acquire();
	   inside++;
	   assert(inside == 1);
	   inside--;
progress:
	   lock = false
	od
}
