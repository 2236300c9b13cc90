/* The first of N searches answers. -D BUG: the others hang, as the channel has no room. */
#ifndef N
#define N 4
#endif
#ifdef BUG
chan c = [0] of { byte };
#else
chan c = [N] of { byte };
#endif
proctype Search(byte i) { byte hit = i; hit = hit + 1; hit = hit * 2; c!hit }

init {
	byte i, r;
	for (i : 1 .. N) { run Search(i) }
	c?r;
	assert(r >= 4)
}
