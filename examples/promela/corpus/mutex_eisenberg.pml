/* Eisenberg and McGuire's algorithm. */
#ifndef N
#define N 2
#endif
mtype = { idle, want, in_ };
mtype flag[N] = idle;
byte turn, critical;

active [N] proctype P() {
	byte k, r;
	for (r : 1 .. 2) {
		do
		:: flag[_pid] = want;
		   k = turn;
		   do
		   :: k != _pid -> if :: flag[k] != idle -> k = turn :: else -> k = (k + 1) % N fi
		   :: else -> break
		   od;
		   flag[_pid] = in_;
		   k = 0;
		   do
		   :: k < N && (k == _pid || flag[k] != in_) -> k++
		   :: else -> break
		   od;
		   if
		   :: k >= N && (turn == _pid || flag[turn] == idle) -> break
		   :: else
		   fi
		od;
		turn = _pid;
		critical++;
		assert(critical == 1);
		critical--;
		k = (turn + 1) % N;
		do
		:: flag[k] == idle -> k = (k + 1) % N
		:: else -> break
		od;
		turn = k;
		flag[_pid] = idle
	}
}
