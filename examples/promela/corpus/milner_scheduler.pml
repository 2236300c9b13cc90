/* Milner's cyclic scheduler: cells start their tasks in turn, and a task ends whenever it
   likes before it is started again. */
#ifndef N
#define N 4
#endif
chan ring[N] = [0] of { bit };
chan start[N] = [0] of { bit };
chan ended[N] = [0] of { bit };
byte turn;

proctype Cell(byte i) {
	if :: i == 0 -> goto go :: else fi;
end:	do
	:: ring[i]?_;
go:	   start[i]!0;
	   assert(turn == i);
	   turn = (turn + 1) % N;
	   if
	   :: ring[(i + 1) % N]!0; ended[i]?_
	   :: ended[i]?_; ring[(i + 1) % N]!0
	   fi
	od
}

proctype Task(byte i) {
	byte w;
end:	do
	:: start[i]?_; w = 1; w = 2; ended[i]!0; w = 0
	od
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Cell(i); run Task(i) } } }
