/* Distance vectors (Bellman, 1958; RIP): N nodes on a ring look for the way to node 0 while a link fails and
 * comes back. Each node keeps what its neighbors told it last. */
#ifndef N
#define N 3
#endif
#ifndef F
#define F 4
#endif

#define NEXT(i) ((i + 1) % N)
#define PREV(i) ((i + N - 1) % N)

typedef Table {
	byte mine;
	byte heard[2] /* from the neighbor before, and from that behind */
};

Table table[N];
bool cut;

inline choose() {
	best = F;
	if :: table[me].heard[0] + 1 < best -> best = table[me].heard[0] + 1 :: else fi;
	if :: table[me].heard[1] + 1 < best -> best = table[me].heard[1] + 1 :: else fi;
	table[me].mine = best;
	best = 0
}

active [N - 1] proctype Node() {
	byte me, best;
	d_step { me = _pid + 1; table[me].mine = F; table[me].heard[0] = F; table[me].heard[1] = F };
	do
	:: d_step {
		table[me].heard[0] = (cut && me == 1 -> F : table[PREV(me)].mine);
		choose()
	   }
	:: d_step {
		table[me].heard[1] = table[NEXT(me)].mine;
		choose()
	   }
	od
}

active proctype Failure() {
	do
	:: cut = true; cut = false
	od
}
