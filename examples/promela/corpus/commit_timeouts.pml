/* Two-phase commit with votes that can be lost: the coordinator gives up when nothing else
   happens, and asks again until everybody knows. -D BUG: a silent participant counts as a yes. */
#ifndef N
#define N 2
#endif
mtype = { prepare, yes, no, commit, abort };
chan up = [N] of { mtype };
chan down[N] = [1] of { mtype };
mtype decided[N];
bool voted[N];

proctype Participant(byte i) {
	mtype m;
	down[i]?prepare;
	if
	:: atomic { up!yes; voted[i] = true }
	:: up!no
	:: skip
	fi;
end:	do
	:: down[i]?m -> decided[i] = m; if :: m == commit -> assert(voted[0] && voted[N - 1]) :: else fi
	od
}

init {
	byte i, n;
	mtype m = commit, v;
	atomic { for (i : 0 .. N - 1) { run Participant(i) } }
	for (i : 0 .. N - 1) { down[i]!prepare }
	do
	:: up?v -> n++; if :: v == no -> m = abort :: else fi
	:: n == N -> break
	:: timeout && n < N ->
#ifndef BUG
	   m = abort;
#endif
	   break
	od;
	for (i : 0 .. N - 1) { down[i]!m };
	timeout;
	for (i : 0 .. N - 1) { assert(decided[i] == m) }
}
