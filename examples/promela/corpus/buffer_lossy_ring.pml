/* A ring buffer of one writer and one reader without locks; the indexes are counted modulo 2K.
   -D BUG publishes the index before the datum. */
#ifndef K
#define K 3
#endif
byte buf[K];
byte head, tail;

active proctype Writer() {
	byte v = 1;
	do
	:: (head + 2 * K - tail) % (2 * K) < K ->
#ifdef BUG
	   head = (head + 1) % (2 * K);
	   buf[(head + 2 * K - 1) % (2 * K) % K] = v;
#else
	   buf[head % K] = v;
	   head = (head + 1) % (2 * K);
#endif
	   v = v % 5 + 1
	od
}

active proctype Reader() {
	byte want = 1, got;
	do
	:: head != tail ->
	   got = buf[tail % K];
	   tail = (tail + 1) % (2 * K);
	   assert(got == want);
	   want = want % 5 + 1
	od
}
