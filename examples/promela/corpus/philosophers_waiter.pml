/* Dining philosophers with a waiter who lets one less than all to the table, as a mutual
   exclusion with provided clauses for the one that feeds the dog. */
#ifndef N
#define N 4
#endif
bool fork[N];
byte seated;
bool dog;

active [N] proctype phil() provided (!dog || _pid != 0) {
	byte r = (_pid + 1) % N;
	do
	:: atomic { seated < N - 1 -> seated++ };
	   atomic { !fork[_pid] -> fork[_pid] = true };
	   atomic { !fork[r] -> fork[r] = true };
	   fork[r] = false;
	   fork[_pid] = false;
	   seated--
	od
}

active proctype Dog() {
	do
	:: dog = !dog
	od
}
