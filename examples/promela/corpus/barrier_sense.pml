/* A barrier that reverses its sense. -D BUG does not: a fast process goes round twice. */
#ifndef N
#define N 4
#endif
byte count = N;
bool sense;
byte phase[N];

active [N] proctype P() {
	bool mine;
	byte left, k;
	do
	:: phase[_pid] = (phase[_pid] + 1) % 3;
	   mine = !mine;
	   d_step { count--; left = count };
	   if
	   :: left == 0 -> count = N;
#ifdef BUG
	      sense = true
#else
	      sense = mine
#endif
	   :: else ->
#ifdef BUG
	      sense
#else
	      sense == mine
#endif
	   fi;
	   left = 0;
	   d_step {
	      for (k : 0 .. N - 1) {
	         assert(phase[k] == phase[_pid] || phase[k] == (phase[_pid] + 1) % 3 || phase[_pid] == (phase[k] + 1) % 3)
	      }
	      k = 0
	   };
	   assert(phase[(_pid + 1) % N] != (phase[_pid] + 2) % 3)
	od
}
