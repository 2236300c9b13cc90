/* The filter lock: N processes go through N-1 levels, and each level holds one
   back. -D BUG lets the last level out. */
#ifndef N
#define N 3
#endif
#ifdef BUG
#define LEVELS (N - 2)
#else
#define LEVELS (N - 1)
#endif
byte level[N], last[N], inside;

active [N] proctype P() {
	byte l, k;
	do
	:: for (l : 1 .. LEVELS) {
	      level[_pid] = l;
	      last[l] = _pid;
	      k = 0;
	      do
	      :: last[l] != _pid -> break
	      :: k == N -> break
	      :: k < N && last[l] == _pid && (k == _pid || level[k] < l) -> k++
	      od
	   }
	   inside++;
	   assert(inside == 1);
	   inside--;
	   level[_pid] = 0
	od
}
