/* Cars on a torus of one-way streets. A car goes straight on or turns; four of them can block each other. */
#ifndef CARS
#define CARS 2
#endif
#ifndef SIDE
#define SIDE 4
#endif
#define CELLS (SIDE * SIDE)

bool taken[CELLS];

#define RIGHT(p) (p / SIDE * SIDE + (p % SIDE + 1) % SIDE)
#define DOWN(p) ((p + SIDE) % CELLS)

active [CARS] proctype Car() {
	byte at = _pid * SIDE;
	taken[at] = true;
	do
	:: d_step { at % 2 == 0 && !taken[RIGHT(at)] -> taken[RIGHT(at)] = true; taken[at] = false; at = RIGHT(at) }
	:: d_step { !taken[DOWN(at)] -> taken[DOWN(at)] = true; taken[at] = false; at = DOWN(at) }
	od
}
