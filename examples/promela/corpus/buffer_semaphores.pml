/* A bounded buffer with counting semaphores. -D BUG takes the mutex first: deadlock. */
#ifndef K
#define K 3
#endif
#ifndef P
#define P 2
#endif
#ifndef C
#define C 2
#endif
byte slots = K, items, mutex = 1, in, out;
byte buf[K];
inline down(s) { atomic { s > 0 -> s-- } }

active [P] proctype Producer() {
	do
	::
#ifdef BUG
	   down(mutex);
	   down(slots);
#else
	   down(slots);
	   down(mutex);
#endif
	   assert(buf[in] == 0);
	   buf[in] = 1;
	   in = (in + 1) % K;
	   mutex++;
	   items++
	od
}

active [C] proctype Consumer() {
	do
	:: down(items);
	   down(mutex);
	   assert(buf[out] == 1);
	   buf[out] = 0;
	   out = (out + 1) % K;
	   mutex++;
	   slots++
	od
}
