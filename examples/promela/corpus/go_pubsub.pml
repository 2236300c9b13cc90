/* A broker copies each message to all subscribers, whose buffers have one place. */
#ifndef S
#define S 3
#endif
#ifndef K
#define K 3
#endif
chan in = [1] of { byte };
chan out[S] = [1] of { byte };

active proctype Publisher() { byte k; xs in; for (k : 1 .. K) { in!k } }

active proctype Broker() {
	byte k, i, v;
	xr in;
	for (k : 1 .. K) {
		in?v;
		for (i : 0 .. S - 1) { out[i]!v }
	}
}

active [S] proctype Subscriber() {
	byte k, v;
	for (k : 1 .. K) { out[_pid - 2]?v; assert(v == k) }
}
