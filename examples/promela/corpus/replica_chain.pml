/* Chain replication: writes enter at the head, reads are answered at the tail. */
#ifndef N
#define N 3
#endif
#ifndef K
#define K 3
#endif
chan c[N + 1] = [1] of { byte };
chan ask = [0] of { chan };
byte stored[N];

proctype Replica(byte i) {
	byte v;
	chan back;
end:	do
	:: c[i]?v -> stored[i] = v; if :: i < N - 1 -> c[i + 1]!v :: else fi
	:: (i == N - 1 && empty(c[i])) ->
end2:	   if :: ask?back -> back!stored[i] :: nempty(c[i]) fi
	od
}

active proctype Writer() { byte k; for (k : 1 .. K) { c[0]!k } }

active proctype Reader() {
	chan mine = [1] of { byte };
	byte k, v, last;
	for (k : 1 .. 2) {
		ask!mine;
		mine?v;
		assert(v >= last && v <= stored[0]);
		last = v
	}
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Replica(i) } } }
