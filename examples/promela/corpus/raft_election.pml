/* Raft's election: T terms, N servers, votes by rendezvous-free mailboxes. At most one
   leader a term. -D BUG: a server forgets in which term it voted. */
#ifndef N
#define N 3
#endif
#ifndef T
#define T 2
#endif
mtype = { ask, vote };
typedef term { byte leaders }
term terms[T + 1];
chan box[N] = [N] of { mtype, byte, byte };

active [N] proctype Server() {
	byte cur, from, t, votes, i;
	bool voted, candidate;
end:	do
	:: cur < T ->
	   atomic {
	      cur++;
	      candidate = true;
	      voted = true;
	      votes = 1;
	      i = 0;
	      do
	      :: i < N ->
	         if
	         :: i != _pid && nfull(box[i]) -> box[i]!ask(cur, _pid)
	         :: else              /* lost */
	         fi;
	         i++
	      :: else -> i = 0; break
	      od
	   }
	:: atomic { box[_pid]?ask(t, from) ->
	      if
	      :: t > cur -> cur = t; voted = false; candidate = false; votes = 0
	      :: else
	      fi;
	      if
#ifdef BUG
	      :: t == cur && !candidate && nfull(box[from]) -> box[from]!vote(t, _pid)
#else
	      :: t == cur && !voted && nfull(box[from]) -> voted = true; box[from]!vote(t, _pid)
#endif
	      :: else
	      fi;
	      t = 0; from = 0
	   }
	:: atomic { box[_pid]?vote(t, _) ->
	      if
	      :: t == cur && candidate ->
	         votes++;
	         if
	         :: votes == N / 2 + 1 ->
	            terms[t].leaders++;
	            assert(terms[t].leaders <= 1);
	            candidate = false
	         :: else
	         fi
	      :: else
	      fi;
	      t = 0
	   }
	od
}
