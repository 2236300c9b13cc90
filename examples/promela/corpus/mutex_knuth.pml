/* Knuth's algorithm of 1966, which was the first without starvation. */
#ifndef N
#define N 3
#endif
mtype = { idle, wanting, entering };
mtype control[N] = idle;
byte k, inside;

active [N] proctype P() {
	byte j;
l0:	control[_pid] = wanting;
l1:	j = k;
	do
	:: j == _pid -> break
	:: j != _pid && control[j] != idle -> goto l1
	:: else -> j = (j + N - 1) % N
	od;
	control[_pid] = entering;
	j = N;
	do
	:: j > 0 ->
	   j--;
	   if
	   :: j != _pid && control[j] == entering -> goto l0
	   :: else
	   fi
	:: else -> break
	od;
	k = _pid;
	inside++;
	assert(inside == 1);
	inside--;
	k = (_pid + N - 1) % N;
	control[_pid] = idle;
	goto l0
}
