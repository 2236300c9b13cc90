/* A parent creates children one after another, each with a channel of its own, and waits for
   the answer before it creates the next two. */
#ifndef N
#define N 6
#endif
proctype Child(chan d; byte v) { byte w = v + 1; d!w }

init {
	chan d = [1] of { byte };
	chan e = [1] of { byte };
	byte i, x, y, sum;
	for (i : 1 .. N) {
		run Child(d, i);
		run Child(e, i);
		d?x;
		e?y;
		assert(x == i + 1 && y == x);
		sum = sum + x
	}
}
