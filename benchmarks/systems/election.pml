/* election.pml: the election of Raft with 3 servers and terms up to T, at most 4; the twin of
 * election.model. */
#ifndef N
#define N 3
#endif
#ifndef T
#define T 3
#endif
#define FOLLOWER	0
#define CANDIDATE	1
#define LEADER		2

typedef Votes { byte by[3] }

byte role[3], term[3];
byte voted[3];		/* for whom in its term, from 1; 0: nobody */
byte asked[5];		/* the candidates of a term, as a bit set */
Votes votes[5];		/* the votes for a candidate in a term, as a bit set */

#define count(set) ((set & 1) + ((set >> 1) & 1) + ((set >> 2) & 1))
#define newer(t) :: d_step { t <= T && t > term[_pid] && asked[t] != 0 ->	\
		term[_pid] = t; role[_pid] = FOLLOWER; voted[_pid] = 0 }
#define vote(c) :: d_step { voted[_pid] == 0 && (asked[term[_pid]] & (1 << c)) ->	\
		voted[_pid] = c + 1;							\
		votes[term[_pid]].by[c] = votes[term[_pid]].by[c] | (1 << _pid) }
#define leads(k) (k != _pid && role[k] == LEADER && term[k] == term[_pid])

active [N] proctype Server() {
end:	do
	:: d_step { term[_pid] < T && role[_pid] != LEADER ->	/* a timeout */
		term[_pid]++;
		role[_pid] = CANDIDATE;
		voted[_pid] = _pid + 1;
		asked[term[_pid]] = asked[term[_pid]] | (1 << _pid);
		votes[term[_pid]].by[_pid] = votes[term[_pid]].by[_pid] | (1 << _pid) }
	newer(1)
	newer(2)
	newer(3)
	newer(4)
	vote(0)
	vote(1)
	vote(2)
	:: d_step { role[_pid] == CANDIDATE && count(votes[term[_pid]].by[_pid]) > N / 2 ->
		role[_pid] = LEADER;
		assert(!leads(0) && !leads(1) && !leads(2)) }
	od
}

ltl one { [] !((role[0] == LEADER) && (role[1] == LEADER) && (term[0] == term[1])) }
ltl some { <> ((role[0] == LEADER) || (role[1] == LEADER) || (role[2] == LEADER)) }
