/* paxos.pml: Lamport's single-decree Paxos with 3 acceptors and at most 4 ballots; the twin of
 * paxos.model. */
#ifndef N
#define N 3
#endif
#ifndef B
#define B 3
#endif

typedef Ballot {
	bool started;		/* 1a */
	byte proposed;		/* 2a: the value, 0: none */
	bool promised[3];	/* 1b, with the ballot and the value of the acceptor's last vote */
	byte voted[3];
	byte value[3];
	bool accepted[3]	/* 2b */
}

Ballot ballot[4];

#define promises (ballot[b].promised[0] + ballot[b].promised[1] + ballot[b].promised[2])
#define votes(k) (ballot[k].accepted[0] + ballot[k].accepted[1] + ballot[k].accepted[2])
#define chosen(k, v) (ballot[k].proposed == v && votes(k) > N / 2)
#define any(v) (chosen(0, v) || chosen(1, v) || chosen(2, v) || chosen(3, v))

#define b _pid		/* of a proposer: its ballot */
#define me (_pid - B)	/* the number of an acceptor */

inline decide(free) {
	for (a : 0 .. N - 1) {
		if
		:: ballot[b].voted[a] > best ->
			best = ballot[b].voted[a];
			v = ballot[b].value[a]
		:: else
		fi
	}
	ballot[b].proposed = (best > 0 -> v : free);
	a = 0; best = 0; v = 0
}

#define prepare(k) :: d_step { k < B && ballot[k].started && promised < k + 1 ->	\
		promised = k + 1;							\
		ballot[k].promised[me] = true;						\
		ballot[k].voted[me] = voted;						\
		ballot[k].value[me] = value;						\
		assert(!(any(1) && any(2))) }
#define vote(k) :: d_step { k < B && ballot[k].proposed != 0 && promised <= k + 1 &&	\
			!ballot[k].accepted[me] ->					\
		promised = k + 1; voted = k + 1; value = ballot[k].proposed;		\
		ballot[k].accepted[me] = true;						\
		assert(!(any(1) && any(2))) }

active [B] proctype Proposer() {
	byte a, best, v;
	ballot[b].started = true;
end:	if
	:: d_step { promises > N / 2 -> decide(1) }
	:: d_step { promises > N / 2 -> decide(2) }
	fi;
end_:	false
}

active [N] proctype Accept() {
	byte promised, voted, value;
end:	do
	prepare(0)
	prepare(1)
	prepare(2)
	prepare(3)
	vote(0)
	vote(1)
	vote(2)
	vote(3)
	od
}
