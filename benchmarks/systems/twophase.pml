/* twophase.pml: two-phase commit as in Gray and Lamport (2006), for at most 8 resource managers;
 * the twin of twophase.model. */
#ifndef N
#define N 6
#endif
#define WORKING		0
#define PREPARED	1
#define COMMITTED	2
#define ABORTED		3

byte rm[8];
byte manager;
bool heard[8];
bool sent[8];
bool commit, abort;

#define hear(i) :: d_step { i < N && manager == WORKING && sent[i] && !heard[i] ->	\
		heard[i] = true }
#define ok(k) (k >= N || heard[k])

active [N] proctype Resource() {
end:	do
	:: d_step { rm[_pid] == WORKING -> rm[_pid] = PREPARED; sent[_pid] = true }
	:: d_step { rm[_pid] == WORKING -> rm[_pid] = ABORTED }
	:: d_step { commit && rm[_pid] != COMMITTED ->
		rm[_pid] = COMMITTED;
		assert(rm[0] != ABORTED && rm[1] != ABORTED && rm[2] != ABORTED && rm[3] != ABORTED &&
		       rm[4] != ABORTED && rm[5] != ABORTED && rm[6] != ABORTED && rm[7] != ABORTED) }
	:: d_step { abort && rm[_pid] != ABORTED -> rm[_pid] = ABORTED }
	od
}

active proctype Manager() {
end:	do
	hear(0)
	hear(1)
	hear(2)
	hear(3)
	hear(4)
	hear(5)
	hear(6)
	hear(7)
	:: d_step { manager == WORKING && ok(0) && ok(1) && ok(2) && ok(3) && ok(4) && ok(5) &&
			ok(6) && ok(7) ->
		manager = COMMITTED; commit = true }
	:: d_step { manager == WORKING -> manager = ABORTED; abort = true }
	od
}

ltl consistent { [] !((rm[0] == COMMITTED) && (rm[1] == ABORTED)) }
ltl ends { <> ((rm[0] == COMMITTED) || (rm[0] == ABORTED)) }
