/* szymanski.pml: Szymanski's mutual exclusion for N processes, at most 6; the twin of
 * szymanski.model. */
#ifndef N
#define N 4
#endif

byte flag[6];	/* 1: wants in; 2: waits for others; 3: in the doorway; 4: the door is closed */

#define no(k) (flag[k] < 3)
#define any(f) (flag[0] == f || flag[1] == f || flag[2] == f || flag[3] == f || flag[4] == f ||	\
		flag[5] == f)
#define low(k) (k >= _pid || flag[k] < 2)
#define high(k) (k <= _pid || flag[k] < 2 || flag[k] > 3)

active [N] proctype P() {
	do
	:: flag[_pid] = 1;
	   no(0) && no(1) && no(2) && no(3) && no(4) && no(5);
	   flag[_pid] = 3;
	   if
	   :: any(1) ->
		flag[_pid] = 2;
		any(4)
	   :: else
	   fi;
	   flag[_pid] = 4;
	   low(0) && low(1) && low(2) && low(3) && low(4) && low(5);
in:	   high(0) && high(1) && high(2) && high(3) && high(4) && high(5);
	   flag[_pid] = 0
	od
}

ltl exclusive { [] !(P[0]@in && P[1]@in) }
ltl fair { [] (P[1]@in -> <> P[0]@in) }	/* does not hold */
