/* FloodSet: everybody tells everybody the smallest value it knows, in F + 1 rounds, where at
   most F crash. -D BUG: one round less. */
#ifndef N
#define N 3
#endif
#ifdef BUG
#define ROUNDS 1
#else
#define ROUNDS 2
#endif
chan c[N * N] = [ROUNDS] of { byte };	/* 9: crashed */
byte decided[N], crashes;

proctype P(byte i) {
	byte v = i + 1, w, k, r;
	bool dead;
	for (r : 1 .. ROUNDS) {
		for (k : 0 .. N - 1) {
			if
			:: k != i && !dead -> c[i * N + k]!v
			:: atomic { k != i && !dead && crashes == 0 -> crashes++; dead = true }; c[i * N + k]!9
			:: k != i && dead -> c[i * N + k]!9
			:: k == i
			fi
		};
		for (k : 0 .. N - 1) {
			if
			:: k != i -> c[k * N + i]?w; if :: w < v -> v = w :: else fi
			:: else
			fi
		}
	}
	if :: dead :: else -> decided[i] = v fi
}

init {
	byte i, k;
	atomic { for (i : 0 .. N - 1) { run P(i) } }
	_nr_pr == 1;
	for (i : 1 .. N - 1) {
		for (k : 0 .. i - 1) { assert(decided[i] == decided[k] || decided[i] == 0 || decided[k] == 0) }
	}
}
