/* Dining philosophers; the forks are channels with one token each. The last one takes them the other
   way round; -D BUG has all begin on the left: deadlock. */
#ifndef N
#define N 5
#endif
chan fork[N] = [1] of { bit };
byte eating;

proctype phil(byte first, second) {
	do
	:: fork[first]?_;
	   fork[second]?_;
	   eating++;
	   assert(eating <= N / 2);
	   eating--;
	   fork[first]!1;
	   fork[second]!1
	od
}

init {
	byte i;
	atomic {
		for (i : 0 .. N - 1) {
			fork[i]!1;
#ifdef BUG
			run phil(i, (i + 1) % N)
#else
			if
			:: i < N - 1 -> run phil(i, i + 1)
			:: else -> run phil(0, i)
			fi
#endif
		}
	}
}
