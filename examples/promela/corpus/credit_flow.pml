/* Flow control by credits: a sender has as many as the receiver has buffers. -D BUG: a credit
   is given back before the buffer is free. */
#ifndef K
#define K 4
#endif
#ifndef C
#define C 2
#endif
chan data = [C + 1] of { byte };
chan credit = [C + 1] of { bit };
chan app = [0] of { byte };
byte used;

active proctype Sender() {
	byte k, have = C;
	xs data;
	xr credit;
	for (k : 1 .. K) {
		do
		:: have > 0 -> break
		:: credit?_ -> have++
		od;
		have--;
		data!k
	}
end:	do :: credit?_ -> have++ od
}

active proctype Receiver() {
	byte v, r;
	byte buf[C];
	byte head, n;
	xr data;
	xs credit;
	do
	:: data?v ->
	   assert(n < C);
	   buf[(head + n) % C] = v;
	   n++;
#ifdef BUG
	   credit!0
#endif
	:: n > 0 ->
	   app!buf[head];
	   buf[head] = 0;
	   head = (head + 1) % C;
	   n--;
	   r++;
#ifndef BUG
	   credit!0
#endif
	:: r == K -> break
	od
}

active proctype Application() { byte k, v; for (k : 1 .. K) { app?v; assert(v == k) } }
