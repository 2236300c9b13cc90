/* bakery.pml: Lamport's bakery for N processes, with tickets up to MAX; the twin of
 * bakery.model. */
#ifndef N
#define N 3
#endif
#ifndef MAX
#define MAX 6
#endif

bool choosing[N];
byte ticket[N];

active [N] proctype P() {
	byte m, k;
	do
	:: choosing[_pid] = true;
	   do
	   :: atomic { k < N - 1 ->
		if :: ticket[k] > m -> m = ticket[k] :: else fi;
		k++ }
	   :: atomic { k == N - 1 ->
		if :: ticket[k] > m -> m = ticket[k] :: else fi;
		k = 0; break }
	   od;
	   if
	   :: atomic { m == MAX -> choosing[_pid] = false; m = 0 }
	   :: atomic { m < MAX -> ticket[_pid] = m + 1; m = 0 };
	      choosing[_pid] = false;
	      do
	      :: !choosing[k];
		 if
		 :: atomic { k < N - 1 && (ticket[k] == 0 || ticket[k] > ticket[_pid] ||
				ticket[k] == ticket[_pid] && k >= _pid) -> k++ }
		 :: atomic { k == N - 1 && (ticket[k] == 0 || ticket[k] > ticket[_pid] ||
				ticket[k] == ticket[_pid] && k >= _pid) -> k = 0; break }
		 fi
	      od;
in:	      ticket[_pid] = 0
	   fi
	od
}

ltl exclusive { [] !(P[0]@in && P[1]@in) }
