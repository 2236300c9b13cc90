/* Building water: two atoms of hydrogen and one of oxygen meet; the oxygen calls. */
#ifndef N
#define N 2
#endif
chan bond = [0] of { chan };
byte molecules;

proctype Oxygen() {
	chan mine = [2] of { bit };
	bond!mine;
	bond!mine;
	mine?_;
	mine?_;
	molecules++
}

proctype Hydrogen() {
	chan o;
	byte spin_;
	spin_++;
	bond?o;
	o!0;
	spin_ = 0
}

init {
	byte i;
	for (i : 1 .. N) { run Oxygen(); run Hydrogen(); run Hydrogen() }
	_nr_pr == 1;
	assert(molecules == N)
}
