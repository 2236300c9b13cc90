/* The Tower of Hanoi with four pegs (Dudeney's Reve's puzzle, 1908); the pegs are stacks. */
#ifndef N
#define N 4
#endif
#define PEGS 4

typedef Peg {
	byte n;
	byte disk[N]
};

Peg peg[PEGS];

#define TOP(p) peg[p].disk[peg[p].n - 1]
#define CAN(a, b) (peg[a].n > 0 && (peg[b].n == 0 || TOP(b) > TOP(a)))
#define MOVE(a, b) d_step { CAN(a, b) -> \
	peg[b].disk[peg[b].n] = TOP(a); peg[b].n++; TOP(a) = 0; peg[a].n-- }

init {
	d_step {
		byte i;
		for (i : 0 .. N - 1) { peg[0].disk[i] = N - i };
		peg[0].n = N;
		i = 0
	};
end:	do
	:: MOVE(0, 1) :: MOVE(0, 2) :: MOVE(0, 3)
	:: MOVE(1, 0) :: MOVE(1, 2) :: MOVE(1, 3)
	:: MOVE(2, 0) :: MOVE(2, 1) :: MOVE(2, 3)
	:: MOVE(3, 0) :: MOVE(3, 1) :: MOVE(3, 2)
	od
}
