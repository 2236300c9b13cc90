/* Szymanski's algorithm: a waiting room whose door is closed by the last to come.
   The state of a process is 0 to 4. Loops over the others are not atomic.
   -D BUG leaves the waiting room without looking at those with smaller numbers. */
#ifndef N
#define N 2
#endif
byte st[N], inside;

inline every(cond) {
	j = 0;
	do
	:: j < N && (j == _pid || (cond)) -> j++
	:: j == N -> break
	od
}

active [N] proctype P() {
	byte j;
	bool found;
	do
	:: st[_pid] = 1;
	   every(st[j] < 3);
	   st[_pid] = 3;
	   found = false;
	   for (j : 0 .. N - 1) {
	      if
	      :: st[j] == 1 -> found = true
	      :: else
	      fi
	   }
	   if
	   :: found ->
	      st[_pid] = 2;
	      j = 0;
	      do
	      :: st[j] == 4 -> break
	      :: else -> j = (j + 1) % N
	      od
	   :: else
	   fi;
	   st[_pid] = 4;
#ifndef BUG
	   every(j > _pid || st[j] < 2);
#endif
	   inside++;
	   assert(inside == 1);
	   inside--;
	   every(j < _pid || st[j] < 2 || st[j] > 3);
	   st[_pid] = 0
	od
}
