/* Dining philosophers of which one is right-handed (Dijkstra, 1971). */
#ifndef N
#define N 4
#endif

bool fork[N];
bool eats[N];

active [N] proctype Philosopher() {
	do
	:: _pid > 0 ->
		d_step { !fork[_pid] -> fork[_pid] = true };
		d_step { !fork[(_pid + 1) % N] -> fork[(_pid + 1) % N] = true; eats[_pid] = true };
		d_step { fork[(_pid + 1) % N] = false; eats[_pid] = false };
		fork[_pid] = false
	:: _pid == 0 ->
		d_step { !fork[1] -> fork[1] = true };
		d_step { !fork[0] -> fork[0] = true; eats[0] = true };
		d_step { fork[0] = false; eats[0] = false };
		fork[1] = false
	od
}

ltl safe { [] !(eats[0] && eats[1]) }
ltl together { ([]<> eats[2]) -> ([]<> fork[2]) }
ltl fed { [] <> eats[0] }
