/* robots.pml: robots in an arena; the Promela twin of robots.model, with the
 * same transitions and the same number of states (Gueta et al., SPIN 2007,
 * figure 1). spin -DN=12 -DR=2 -a robots.pml
 *
 * d_step joins a shared access with the local computation that follows it.
 */
#ifndef N
#define N 12
#endif
#ifndef R
#define R 2
#endif

bool A[N * N];

active [R] proctype Robot() {
	byte x = (_pid == 0 -> 0 : (_pid == 1 -> 4 : 7));
	byte y = 0;
	short dx = 1;
	short dy = 1;
	do
	:: d_step {
		A[x * N + y] = false;
		x = x + dx;
		y = y + dy;
		if
		:: x == N - 1 || x == 0 -> dx = -dx
		:: else
		fi;
		if
		:: y == N - 1 || y == 0 -> dy = -dy
		:: else
		fi
	   }
	   assert(!A[x * N + y] || x == 9 || x == 2);
	   A[x * N + y] = true
	od
}
