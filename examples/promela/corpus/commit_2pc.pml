/* Two-phase commit: a coordinator and N participants, any of which may vote no.
   -D BUG commits if the last vote is yes. */
#ifndef N
#define N 3
#endif
mtype = { prepare, yes, no, commit, abort };
chan to[N] = [1] of { mtype };
chan back = [N] of { mtype, byte };
mtype outcome[N];

proctype Coordinator() {
	byte i, who;
	mtype vote, decision = commit;
	for (i : 0 .. N - 1) {
		to[i]!prepare
	}
	for (i in to) {
		back?vote(who);
#ifdef BUG
		decision = (vote == no -> abort : commit)
#else
		if
		:: vote == no -> decision = abort
		:: else
		fi
#endif
	}
	for (i : 0 .. N - 1) {
		to[i]!decision
	}
}

proctype Participant(byte me) {
	mtype d;
	bool ready;
	to[me]?prepare;
	if
	:: ready = true; back!yes(me)
	:: back!no(me)
	fi;
	to[me]?d;
	assert(d != commit || ready);
	outcome[me] = d
}

init {
	byte k;
	atomic {
		run Coordinator();
		for (k : 0 .. N - 1) {
			run Participant(k)
		}
	}
	(_nr_pr == 1);
	for (k : 1 .. N - 1) {
		assert(outcome[k] == outcome[0])
	}
}
