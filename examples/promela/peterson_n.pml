/* Peterson's filter lock for N processes: each level holds back one. */
#ifndef N
#define N 3
#endif

byte level[N];
byte last[N];
byte critical;

active [N] proctype P() {
	byte l, k;
	do
	:: l = 1;
	   do
	   :: l < N ->
	      level[_pid] = l;
	      last[l] = _pid;
	      k = 0;
	      do
	      :: k < N ->
	         if
	         :: k == _pid || level[k] < l || last[l] != _pid -> k++
	         fi
	      :: else -> break
	      od;
	      l++
	   :: else -> break
	   od;
	   critical++;
	   assert(critical == 1);
	   critical--;
	   level[_pid] = 0
	od
}
