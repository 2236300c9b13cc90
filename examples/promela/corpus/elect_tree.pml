/* Election on a tree by saturation: leaves send first, a node sends to its last neighbour when
   all others have sent, and two neighbours meet, of which the larger wins. */
#ifndef N
#define N 5
#endif
chan c[25] = [1] of { bit };	/* c[i * N + j] goes from i to j */
byte leaders;
#define adjacent(i, j) ((i) != (j) && ((i) == ((j) - 1) / 2 && (j) > 0 || (j) == ((i) - 1) / 2 && (i) > 0))

proctype Node(byte i) {
	byte got, degree, j, rest;
	d_step {
		j = 0;
		do
		:: j < N -> if :: adjacent(i, j) -> degree++; rest = rest + j :: else fi; j++
		:: else -> break
		od
	}
	j = 0;
	do
	:: got < degree - 1 && adjacent(i, j) && c[j * N + i]?[_] ->
	   c[j * N + i]?_;
	   got++;
	   rest = rest - j;
	   j = 0
	:: got < degree - 1 && !(adjacent(i, j) && c[j * N + i]?[_]) -> j = (j + 1) % N
	:: got == degree - 1 -> break
	od;
	c[i * N + rest]!0;
end:	c[rest * N + i]?_;
	if
	:: i > rest -> leaders++; assert(leaders == 1)
	:: else
	fi
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Node(i) } } }
