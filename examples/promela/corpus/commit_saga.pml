/* A saga: steps in different services, undone in reverse if one fails. */
#ifndef N
#define N 4
#endif
mtype = { act, undo, ok, fail };
chan s[N] = [0] of { mtype };
chan r[N] = [0] of { mtype };
bit state[N];

proctype Service(byte i) {
	byte log;
end:	do
	:: s[i]?act ->
	   log++;
	   if
	   :: state[i] = 1; log++; r[i]!ok
	   :: r[i]!fail
	   fi
	:: s[i]?undo -> log++; state[i] = 0; log = 0; r[i]!ok
	od
}

active proctype Noise() { byte k; do :: k < 9 -> k++ :: else -> break od }

init {
	byte i, k;
	bit failed;
	mtype m;
	atomic { for (i : 0 .. N - 1) { run Service(i) } i = 0 }
	do
	:: i < N && !failed -> s[i]!act; r[i]?m; if :: m == fail -> failed = 1 :: else -> i++ fi
	:: failed && i > 0 -> i--; s[i]!undo; r[i]?m
	:: !failed && i == N || failed && i == 0 -> break
	od;
	for (k : 0 .. N - 1) { assert(state[k] == 1 - failed) }
}
