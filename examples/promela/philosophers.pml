/* Dining philosophers. With BUG all take the left fork first and starve. */
#ifndef N
#define N 5
#endif

chan fork[N] = [1] of { bit };

proctype Phil(byte i) {
	byte first = i, second = (i + 1) % N;
#ifndef BUG
	if
	:: i == N - 1 -> first = 0; second = i
	:: else
	fi;
#endif
	fork[i]!1;
end:
	do
	:: fork[first]?_ -> fork[second]?_;
	   fork[first]!1;
	   fork[second]!1
	od
}

init {
	byte i;
	atomic {
		for (i : 0 .. N - 1) {
			run Phil(i)
		}
	}
}
