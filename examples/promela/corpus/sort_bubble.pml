/* Bubble sort of every array of N values below V, which is chosen at the start. -D BUG stops one
   position too early. */
#ifndef N
#define N 4
#endif
#ifndef V
#define V 4
#endif
byte a[N];

active proctype Sort() {
	byte i, j, v;
	for (i : 0 .. N - 1) {
		select (v : 0 .. V - 1);
		a[i] = v
	}
	for (i : 1 .. N - 1) {
#ifdef BUG
		for (j : 0 .. N - 2 - i) {
#else
		for (j : 0 .. N - 1 - i) {
#endif
			if
			:: a[j] > a[j + 1] -> d_step { v = a[j]; a[j] = a[j + 1]; a[j + 1] = v }
			:: else
			fi
		}
	}
	for (i : 1 .. N - 1) {
		assert(a[i - 1] <= a[i])
	}
}
