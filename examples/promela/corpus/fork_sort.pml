/* Merge sort that forks: halves of a shared array are sorted by children of their own. */
#ifndef N
#define N 3
#endif
byte a[N];

proctype Sort(chan done; byte lo, hi) {
	chan d = [2] of { bit };
	byte i, j, k, mid;
	byte t[N];
	if
	:: hi - lo > 1 ->
	   mid = (lo + hi) / 2;
	   run Sort(d, lo, mid);
	   run Sort(d, mid, hi);
	   d?_;
	   d?_;
	   i = lo;
	   j = mid;
	   k = 0;
	   do
	   :: i < mid && (j == hi || a[i] <= a[j]) -> t[k] = a[i]; i++; k++
	   :: j < hi && (i == mid || a[j] < a[i]) -> t[k] = a[j]; j++; k++
	   :: i == mid && j == hi -> i = 0; break
	   od;
	   do :: i < k -> a[lo + i] = t[i]; i++ :: else -> break od
	:: else
	fi;
	done!0
}

init {
	chan d = [0] of { bit };
	byte i;
	for (i : 0 .. N - 1) { if :: a[i] = 1 :: a[i] = N - i fi }
	run Sort(d, 0, N);
	d?_;
	for (i : 1 .. N - 1) { assert(a[i - 1] <= a[i]) }
}
