/* A car that takes C passengers, rides when it is full, and lets all out. */
#ifndef P
#define P 3
#endif
#ifndef C
#define C 2
#endif
#define RIDES 3
chan board = [0] of { bit };
chan unboard = [0] of { bit };
byte in_car, rides;

active proctype Car() {
	byte r, i;
	for (r : 1 .. RIDES) {
		for (i : 1 .. C) { board!0 }
		rides++;
		assert(in_car <= C);
		for (i : 1 .. C) { unboard!0 }
	}
}

active [P] proctype Passenger() {
	byte k;
end:	do
	:: atomic { board?_ -> in_car++ }; k++; atomic { unboard?_; in_car-- }; k = 0
	od
}
