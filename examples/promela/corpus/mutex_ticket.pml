/* A ticket lock with numbers modulo M. With -D M smaller than the number of processes two hold
   the same ticket. */
#ifndef N
#define N 3
#endif
#ifndef M
#define M 4
#endif
byte next, serving, inside;

active [N] proctype P() {
	byte mine;
	do
	:: atomic { mine = next; next = (next + 1) % M };
	   serving == mine;
	   inside++;
	   assert(inside == 1);
	   inside--;
	   serving = (serving + 1) % M
	od
}
