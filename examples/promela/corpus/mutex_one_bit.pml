/* Lamport's one-bit algorithm: who sees the bit of one before it clears its own. */
#ifndef N
#define N 3
#endif
bit x[N];
byte critical;

active [N] proctype P() {
	byte j, r;
	for (r : 1 .. 2) {
again:		x[_pid] = 1;
		j = 0;
		do
		:: j < _pid ->
		   if
		   :: x[j] -> x[_pid] = 0; !x[j]; goto again
		   :: else -> j++
		   fi
		:: else -> break
		od;
		j = _pid + 1;
		do
		:: j < N -> !x[j]; j++
		:: else -> break
		od;
		critical++;
		assert(critical == 1);
		critical--;
		x[_pid] = 0
	}
}
