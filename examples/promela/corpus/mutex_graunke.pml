/* Graunke and Thakkar's queue lock: everybody spins on the flag of the one before. */
#ifndef N
#define N 3
#endif
#ifndef R
#define R 2
#endif
bit slot[N + 1], oldbit;
byte tail = N, critical;

active [N] proctype P() {
	byte prev, r;
	bit was;
	for (r : 1 .. R) {
		d_step { prev = tail; was = oldbit; tail = _pid; oldbit = slot[_pid] };
		slot[prev] != was || prev == N && r == 0;
		critical++;
		assert(critical == 1);
		critical--;
		slot[_pid] = 1 - slot[_pid]
	}
}

init { slot[N] = 1 }
