/* sharedptr.pml: two threads work on variables and then through a shared
 * pointer; the Promela twin of sharedptr.model (Gueta et al., SPIN 2007,
 * figure 11). spin -DN=100 -a sharedptr.pml
 *
 * The pointer p is a number: 0 nil, 1 x, 2 y. A process that is done waits
 * forever (false) instead of dying: the step in which a process dies would be
 * one more local state.
 */
#ifndef N
#define N 100
#endif

short x = 3;
short y = 4;
short c1, c2;
byte p;

inline add(n) {
	d_step {
		if
		:: p == 1 -> x = x + n
		:: p == 2 -> y = y + n
		fi;
		assert(3 <= x && y <= 9)
	}
}

active proctype First() {
	short i = 0;
	p = 2;
	do
	:: d_step { i < N -> c1 = c1 + x; i++ }
	:: i >= N -> break
	od;
	add(3);
end:	false
}

active proctype Second() {
	short i = 0;
	p = 1;
	do
	:: d_step { i < N -> c2 = c2 + y; i++ }
	:: i >= N -> break
	od;
	add(2);
end:	false
}
