/* Burns' algorithm: one bit each, and smaller numbers go first. -D BUG leaves out the
   look at larger numbers. */
#ifndef N
#define N 3
#endif
bool flag[N];
byte inside;

active [N] proctype P() {
	byte j;
entry:
	flag[_pid] = false;
	j = 0;
	do
	:: j < _pid ->
	   if
	   :: flag[j] -> goto entry
	   :: else -> j++
	   fi
	:: else -> break
	od;
	flag[_pid] = true;
	j = 0;
	do
	:: j < _pid ->
	   if
	   :: flag[j] -> goto entry
	   :: else -> j++
	   fi
	:: else -> break
	od;
#ifndef BUG
	j = _pid + 1;
	do
	:: j < N -> !flag[j]; j++
	:: else -> break
	od;
#endif
	inside++;
	assert(inside == 1);
	inside--;
	flag[_pid] = false;
	goto entry
}
