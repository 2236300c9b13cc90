/* The bully algorithm with a crash of the largest: who notices (nothing else happens) asks all
   above, and is leader if nobody answers. */
#ifndef N
#define N 3
#endif
mtype = { election, answer, leader };
chan c[N] = [4] of { mtype, byte };
bool down[N];
byte lead[N];

inline win(i) {
	k = 0;
	do
	:: k < N -> if :: k != i && !down[k] -> c[k]!leader, i :: else fi; k++
	:: else -> break
	od;
	lead[i] = i + 1
}

proctype Node(byte i) {
	byte k, who, asked;
end:	do
	:: c[i]?election, who ->
	   c[who]!answer, i;
	   if
	   :: asked == 0 -> asked = 1; k = i + 1;
	      do
	      :: k < N -> if :: !down[k] -> c[k]!election, i :: else fi; k++
	      :: else -> break
	      od
	   :: else
	   fi;
	   if
	   :: i == N - 2 && lead[i] != i + 1 -> win(i)
	   :: else
	   fi
	:: c[i]?answer, who -> asked = 2
	:: c[i]?leader, who -> lead[i] = who + 1
	od
}

init {
	byte i;
	atomic {
		down[N - 1] = true;
		for (i : 0 .. N - 2) { run Node(i); c[i]!election, i }
	}
	timeout;
	for (i : 0 .. N - 2) { assert(lead[i] == N - 1) }
}
