/* Mutual exclusion by asking all others, after Ricart and Agrawala; times are bounded by
   ROUNDS entries. -D BUG: ties are not broken. */
#ifndef N
#define N 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
mtype = { request, reply };
chan box[N] = [2 * N] of { mtype, byte, byte };
byte inside;

active [N] proctype Node() {
	byte clock, mine, replies, rounds, from, t, k;
	bool wants;
	bool later[N];
end:	do
	:: atomic { !wants && rounds < ROUNDS ->
	      wants = true;
	      rounds++;
	      clock++;
	      mine = clock;
	      replies = 0;
	      for (k : 0 .. N - 1) {
	         if
	         :: k != _pid -> box[k]!request(mine, _pid)
	         :: else
	         fi
	      }
	      k = 0 }
	:: atomic { box[_pid]?request(t, from) ->
	      if
	      :: t > clock -> clock = t
	      :: else
	      fi;
	      if
#ifdef BUG
	      :: wants && mine < t -> later[from] = true
#else
	      :: wants && (mine < t || (mine == t && _pid < from)) -> later[from] = true
#endif
	      :: else -> box[from]!reply(0, _pid)
	      fi;
	      from = 0; t = 0 }
	:: atomic { box[_pid]?reply(_, _) -> replies++ }
	:: wants && replies == N - 1 ->
	   inside++;
	   assert(inside == 1);
	   inside--;
	   atomic {
	      wants = false;
	      replies = 0;
	      mine = 0;
	      for (k : 0 .. N - 1) {
	         if
	         :: later[k] -> later[k] = false; box[k]!reply(0, _pid)
	         :: else
	         fi
	      }
	      k = 0
	   }
	od
}
