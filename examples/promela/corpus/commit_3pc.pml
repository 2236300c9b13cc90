/* Three-phase commit with a coordinator that may die, and a time-out rule: whoever has
   seen "prepare to commit" commits, the others abort. -D BUG lets the coordinator die
   after it has told only some, with which the rule disagrees. */
#ifndef N
#define N 2
#endif
mtype = { can, yes, no, pre, ack, do_commit, do_abort };
mtype:state = { working, wait, prepared, committed, aborted };
chan to[N] = [3] of { mtype };
chan from = [N] of { mtype };
mtype:state st[N] = working;
bool dead;

active proctype Coordinator() {
	byte i;
	mtype m;
	bool all = true;
	d_step { i = 0; do :: i < N -> to[i]!can; i++ :: else -> break od }
	for (i : 1 .. N) {
		from?m;
		if
		:: m == no -> all = false
		:: else
		fi
	}
	if
	:: !all ->
	   for (i : 0 .. N - 1) { to[i]!do_abort }
	   goto out
	:: all -> dead = true; goto out
	:: all
	fi;
#ifdef BUG
	for (i : 0 .. N - 1) {
		to[i]!pre;
		if
		:: dead = true; goto out
		:: skip
		fi
	}
#else
	atomic {
		for (i : 0 .. N - 1) { to[i]!pre }
	}
#endif
	if
	:: dead = true; goto out
	:: skip
	fi;
	for (i : 1 .. N) { from?ack }
	for (i : 0 .. N - 1) { to[i]!do_commit }
out:	skip
}

active [N] proctype Worker() {
	byte me = _pid - 1;
	to[me]?can;
	if
	:: from!yes; st[me] = wait
	:: from!no; st[me] = aborted; goto out
	fi;
	if
	:: to[me]?pre -> st[me] = prepared; from!ack
	:: to[me]?do_abort -> st[me] = aborted; goto out
	:: dead && empty(to[me]) -> st[me] = aborted; goto out
	fi;
	if
	:: to[me]?do_commit
	:: dead && empty(to[me])
	fi;
	st[me] = committed;
out:	assert(!(st[0] == committed && st[1] == aborted) && !(st[0] == aborted && st[1] == committed))
}
