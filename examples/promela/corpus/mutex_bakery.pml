/* Lamport's bakery: a number is one more than the largest. To stay finite, each process
   enters ROUNDS times. -D BUG leaves out the flag that says "I am choosing". */
#ifndef N
#define N 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
bool choosing[N];
byte number[N], inside;

inline largest(m, i) {
	m = 0;
	i = 0;
	do
	:: i < N ->
	   if
	   :: number[i] > m -> m = number[i]
	   :: else
	   fi;
	   i++
	:: else -> break
	od
}

active [N] proctype P() {
	byte j, top, round;
	do
	:: round < ROUNDS ->
	   round++;
#ifndef BUG
	   choosing[_pid] = true;
#endif
	   largest(top, j);
	   number[_pid] = top + 1;
	   choosing[_pid] = false;
	   for (j : 0 .. N - 1) {
	      !choosing[j];
	      number[j] == 0 || number[j] > number[_pid] ||
	         (number[j] == number[_pid] && j >= _pid)
	   }
	   inside++;
	   assert(inside == 1);
	   inside--;
	   number[_pid] = 0
	:: else -> break
	od
}
