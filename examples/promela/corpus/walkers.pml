/* N walkers on a ring of CELLS places, one on each place at most; each remembers where it came from. */
#ifndef N
#define N 3
#endif
#ifndef CELLS
#define CELLS 8
#endif

bool taken[CELLS];

active [N] proctype Ant() {
	byte at = _pid * 2;
	bool back;
	taken[at] = true;
	do
	:: d_step { !taken[(at + 1) % CELLS] -> taken[at] = false; at = (at + 1) % CELLS; taken[at] = true; back = false }
	:: d_step { !taken[(at + CELLS - 1) % CELLS] ->
		taken[at] = false; at = (at + CELLS - 1) % CELLS; taken[at] = true; back = true }
	od
}
