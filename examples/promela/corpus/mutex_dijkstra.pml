/* Dijkstra's algorithm of 1965, the first for more than two. */
#ifndef N
#define N 3
#endif
bool b[N] = true, c[N] = true;
byte k, inside;

active [N] proctype P() {
	byte j;
	do
	:: b[_pid] = false;
retry:	   if
	   :: k != _pid ->
	      c[_pid] = true;
	      if
	      :: b[k] -> k = _pid
	      :: else
	      fi;
	      goto retry
	   :: else
	   fi;
	   c[_pid] = false;
	   for (j : 0 .. N - 1) {
	      if
	      :: j != _pid && !c[j] -> goto retry
	      :: else
	      fi
	   }
	   inside++;
	   assert(inside == 1);
	   inside--;
	   c[_pid] = true;
	   b[_pid] = true
	od
}
