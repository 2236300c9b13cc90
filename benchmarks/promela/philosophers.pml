/* philosophers.pml: the dining philosophers, all left-handed; the Promela twin
 * of philosophers.model. spin -DN=5 -a philosophers.pml, and ./pan -E, which
 * lets the search go on behind the deadlock.
 */
#ifndef N
#define N 5
#endif

bool fork[N];

active [N] proctype Philosopher() {
	do
	:: d_step { !fork[_pid] -> fork[_pid] = true };
	   d_step { !fork[(_pid + 1) % N] -> fork[(_pid + 1) % N] = true };
	   fork[(_pid + 1) % N] = false;
	   fork[_pid] = false
	od
}
