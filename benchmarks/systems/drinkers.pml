/* drinkers.pml: the hygienic philosophers of Chandy and Misra (1984) in a ring; the twin of
 * drinkers.model. */
#ifndef N
#define N 6
#endif
#define THINKING	0
#define HUNGRY		1
#define EATING		2

byte mood[N];
/* Of the fork between i and i+1: whether i has it, whether it is dirty, whether i has the token.
 * The last one is seen from its other end, so that all begin alike. */
bool right[N], clean[N], asks[N];

#define l ((_pid + N - 1) % N)
#define has(i) ((i == N - 1) == right[i])
#define token(i) ((i == N - 1) != asks[i])

active [N] proctype Philosopher() {
	do
	:: d_step { mood[_pid] == THINKING -> mood[_pid] = HUNGRY }
	:: d_step { mood[_pid] == HUNGRY && !has(_pid) && token(_pid) -> asks[_pid] = !asks[_pid] }
	:: d_step { mood[_pid] == HUNGRY && has(l) && !token(l) -> asks[l] = !asks[l] }
	:: d_step { mood[_pid] != EATING && has(_pid) && !clean[_pid] && token(_pid) ->
		right[_pid] = !right[_pid];
		clean[_pid] = true }
	:: d_step { mood[_pid] != EATING && !has(l) && !clean[l] && !token(l) ->
		right[l] = !right[l];
		clean[l] = true }
	:: d_step { mood[_pid] == HUNGRY && has(_pid) && !has(l) && (clean[_pid] || !token(_pid)) &&
			(clean[l] || token(l)) ->
		mood[_pid] = EATING;
		clean[_pid] = false;
		clean[l] = false }
	:: d_step { mood[_pid] == EATING -> mood[_pid] = THINKING }
	od
}

ltl exclusive { [] !((mood[0] == EATING) && (mood[1] == EATING)) }
ltl fed { [] ((mood[0] == HUNGRY) -> <> (mood[0] == EATING)) }
