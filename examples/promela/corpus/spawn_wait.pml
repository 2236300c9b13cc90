/* sync.WaitGroup: workers add up results and count down; who created them waits for 0. -D BUG:
   a worker counts down before it has added its result. */
#ifndef N
#define N 4
#endif
byte wg, sum;

proctype Worker(byte v) {
	byte x = v;
	x = x + x;
#ifdef BUG
	wg--;
	d_step { sum = sum + x }
#else
	d_step { sum = sum + x };
	wg--
#endif
}

init {
	byte i;
	for (i : 1 .. N) { wg++; run Worker(i) }
	wg == 0;
	assert(sum == N * (N + 1))
}
