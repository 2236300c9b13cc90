/* Read-copy-update with a grace period: the writer publishes a new object, waits until every
   reader has left its critical section once, and frees the old one. -D BUG does not wait. */
#ifndef R
#define R 2
#endif
byte current;
bool freed[2];
bool inside[R];
byte gen[R];

active [R] proctype Reader() {
	byte p;
	do
	:: inside[_pid] = true;
	   p = current;
	   assert(!freed[p]);
	   if
	   :: assert(!freed[p])
	   :: skip
	   fi;
	   p = 0;
	   d_step { inside[_pid] = false; gen[_pid] = (gen[_pid] + 1) % 2 }
	od
}

active proctype Writer() {
	byte old, k, seen[R];
	do
	:: old = current;
	   freed[1 - old] = false;
	   current = 1 - old;
#ifndef BUG
	   for (k : 0 .. R - 1) {
	      seen[k] = gen[k];
	      do
	      :: !inside[k] -> break
	      :: gen[k] != seen[k] -> break
	      od;
	      seen[k] = 0
	   }
#endif
	   freed[old] = true
	od
}
