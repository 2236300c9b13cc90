/* topspin.pml: the puzzle Top Spin; the twin of topspin.model. */
#ifndef N
#define N 9
#endif

byte ring[N];

inline swap(a, b) {
	x = ring[a];
	ring[a] = ring[b];
	ring[b] = x
}

active proctype Player() {
	byte k, x;
	d_step {
		for (k : 0 .. N - 1) { ring[k] = k }
		k = 0
	}
	do
	:: d_step { true ->	/* turn */
		x = ring[0];
		for (k : 0 .. N - 2) { ring[k] = ring[k + 1] }
		ring[N - 1] = x;
		k = 0; x = 0 }
	:: d_step { true ->	/* turn back */
		x = ring[N - 1];
		for (k : 0 .. N - 2) { ring[N - 1 - k] = ring[N - 2 - k] }
		ring[0] = x;
		k = 0; x = 0 }
	:: d_step { true ->	/* reverse */
		swap(0, 3);
		swap(1, 2);
		x = 0 }
	od
}
