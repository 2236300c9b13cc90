/* A register kept by a majority (Attiya, Bar-Noy, Dolev): a writer, and a reader who writes back
   what it has read. -D BUG: it does not write back, and a second reader sees the old value. */
#define N 3
mtype = { write, read };
chan q[N] = [2] of { mtype, byte, chan };
chan w = [N] of { byte };
chan r = [3 * N] of { byte };
byte first, wrote;

active [N] proctype Server() {
	byte v, x;
	chan c;
end:	do
	:: q[_pid]?write, x, c -> if :: x > v -> v = x :: else fi; c!v
	:: q[_pid]?read, _, c -> c!v
	od
}

inline get(x) {
	k = 0; x = 0;
	do :: k < N -> q[k]!read, 0, mine; k++ :: else -> break od;
	mine?x;
	mine?y; if :: y > x -> x = y :: else fi
}

inline put(x) {
	k = 0;
	do :: k < N -> q[k]!write, x, mine; k++ :: else -> break od;
	mine?_;
	mine?_
}

active proctype Writer() {
	chan mine = w;
	byte k;
	put(1);
	wrote = 1
}

active proctype Readers() {
	chan mine = r;
	byte k, x, y;
	get(x);
	mine?_;
#ifndef BUG
	put(x);
	mine?_;
#endif
	first = x;
	get(x);
	assert(x >= first)
}
