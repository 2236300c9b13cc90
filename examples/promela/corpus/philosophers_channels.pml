/* Forks are processes that give themselves over channels. -D BUG: all take their left fork
   first. */
#ifndef N
#define N 4
#endif
chan fork_[N] = [0] of { bit };

proctype Fork(byte i) {
end:	do
	:: fork_[i]!0; fork_[i]?_
	od
}

proctype Philosopher(byte i) {
	byte first = i, second = (i + 1) % N, r, bites;
#ifndef BUG
	if :: i == N - 1 -> first = 0; second = i :: else fi;
#endif
	for (r : 1 .. 2) {
		fork_[first]?_;
		fork_[second]?_;
		bites++;
		fork_[second]!0;
		fork_[first]!0
	}
	assert(bites == 2)
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Fork(i); run Philosopher(i) } } }
