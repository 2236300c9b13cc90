/* A pipeline that sorts: each process keeps the largest number that it has seen,
   and hands the others to its right. */
#ifndef N
#define N 5
#endif

mtype = { number };
chan q[N] = [N] of { mtype, byte };

proctype left(chan out) {
	byte counter, seed = 3;
	xs out;
	do
	:: out!number,seed ->
	   counter++;
	   if
	   :: counter == N -> break
	   :: counter != N
	   fi;
	   seed = (seed * 7 + 3) % 64
	od
}

proctype middle(chan in, out; byte procnum) {
	byte counter, mine, next;
	xs out;
	xr in;
	counter = N - procnum;
	in?number,mine;
	do
	:: counter > 0 ->
	   in?number,next;
	   if
	   :: next >= mine -> out!number,next
	   :: else -> out!number,mine; mine = next
	   fi;
	   counter--
	:: counter == 0 -> break
	od;
	assert(counter == 0)
}

proctype right(chan in) {
	byte biggest;
	xr in;
	in?number,biggest
}

init {
	byte p;
	atomic {
		run left(q[0]);
		p = 1;
		do
		:: p < N -> run middle(q[p - 1], q[p], p); p++
		:: else -> break
		od;
		run right(q[N - 1])
	}
}
