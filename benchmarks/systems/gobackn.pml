/* gobackn.pml: a sliding window with go-back-N over channels that lose messages; the twin of
 * gobackn.model. */
#ifndef W
#define W 3
#endif
#ifndef M
#define M 5
#endif
#ifndef K
#define K 4
#endif

chan packets = [K] of { byte };
chan acks = [K] of { byte };

active proctype Sender() {
	byte base, next, a;
	do
	:: d_step { (next + M - base) % M < W && nfull(packets) ->	/* a new message */
		packets!next;
		next = (next + 1) % M }
	:: d_step { next != base -> next = base }			/* a timeout */
	:: d_step { acks?a ->		/* everything before a has arrived */
		if
		:: (a + M - base) % M <= W ->
			if
			:: (next + M - base) % M < (a + M - base) % M -> next = a
			:: else
			fi;
			base = a
		:: else
		fi;
		a = 0 }
	od
}

active proctype Receiver() {
	byte want, n;
	do
	:: d_step { nfull(acks) && nempty(packets) ->
		packets?n;
		if
		:: n == want -> want = (want + 1) % M
		:: else
		fi;
		acks!want;
		n = 0 }
	od
}

active proctype Noise() {
	do
	:: packets?_
	:: acks?_
	od
}
