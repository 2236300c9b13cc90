/* Dining savages: who finds the pot empty wakes the cook. -D BUG: the pot is looked at without
   the lock. */
#ifndef N
#define N 3
#endif
#define M 2
byte pot = M;
bit lock;
chan wake = [0] of { bit };
chan refill = [0] of { bit };

active [N] proctype Savage() {
	byte r;
	for (r : 1 .. 2) {
#ifdef BUG
		if
		:: pot == 0 -> atomic { !lock -> lock = 1 }; wake!0; refill?_
		:: pot > 0 -> atomic { !lock -> lock = 1 }
		fi;
#else
		atomic { !lock -> lock = 1 };
		if :: pot == 0 -> wake!0; refill?_ :: else fi;
#endif
		assert(pot > 0);
		pot--;
		lock = 0
	}
}

active proctype Cook() {
end:	do
	:: wake?_ -> pot = M; refill!0
	od
}
