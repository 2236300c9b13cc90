/* Causal broadcast with vector clocks in typedefs. -D BUG delivers as messages come. */
#ifndef N
#define N 3
#endif
typedef vec { byte at[N] }
typedef msg { byte from; byte v0; byte v1; byte v2 }
chan net[N] = [N] of { msg };
vec seen[N];
byte sent;

active [N] proctype P() {
	byte k;
	msg m;
	bool spoke;
again:
end:	do
	:: !spoke && (_pid == 0 || seen[_pid].at[0] == 1) ->
	      spoke = true;
	      seen[_pid].at[_pid] = seen[_pid].at[_pid] + 1;
	      m.from = _pid;
	      m.v0 = seen[_pid].at[0];
	      m.v1 = seen[_pid].at[1];
	      m.v2 = seen[_pid].at[2];
	      k = 0;
	      do
	      :: k < N ->
	         if
	         :: k != _pid -> net[k]!m
	         :: else
	         fi;
	         k++
	      :: else -> break
	      od;
	      k = 0; m.from = 0; m.v0 = 0; m.v1 = 0; m.v2 = 0
#ifdef BUG
	:: atomic { net[_pid]??m ->
#else
	:: atomic { net[_pid]??<m> ->
	      /* the first from its sender that is missing, and nothing else is missing */
	      if
	      :: m.v0 <= seen[_pid].at[0] + (m.from == 0) && m.v1 <= seen[_pid].at[1] + (m.from == 1) &&
	         m.v2 <= seen[_pid].at[2] + (m.from == 2) -> net[_pid]?m
	      :: else -> net[_pid]?m; net[_pid]!m; goto again     /* later: to the end of the queue */
	      fi;
#endif
	      assert(m.from == 0 || seen[_pid].at[0] >= m.v0);
	      seen[_pid].at[m.from] = seen[_pid].at[m.from] + 1;
	      m.from = 0; m.v0 = 0; m.v1 = 0; m.v2 = 0 }
	od
}
