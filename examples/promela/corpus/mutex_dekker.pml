/* Dekker's algorithm for two processes. -D BUG forgets to take the flag back while
   it is the other's turn, so that the other one never enters. */
bool flag[2];
byte turn, critical;

active [2] proctype P() {
	byte other = 1 - _pid;
again:
	flag[_pid] = true;
	do
	:: flag[other] ->
	   if
	   :: turn == other ->
#ifndef BUG
	      flag[_pid] = false;
#endif
	      turn == _pid;
	      flag[_pid] = true
	   :: else
	   fi
	:: else -> break
	od;
	critical++;
	assert(critical == 1);
	critical--;
	turn = other;
	flag[_pid] = false;
	goto again
}

ltl enters { [] <> (critical == 1) }
ltl exclusion { [] (critical <= 1) }
