/* Reliable broadcast: whoever gets a message sends it on before taking it; processes may
   crash. If one that stays alive takes it, all that stay alive do. -D BUG takes it first. */
#ifndef N
#define N 3
#endif
chan box[N] = [N] of { bit };
bool taken[N], dead[N];
byte deaths;

active [N] proctype P() {
	byte k;
	bool sent;
	if
	:: _pid == 0 -> box[0]!1
	:: else
	fi;
end:	do
	:: box[_pid]?1 ->
#ifdef BUG
	   taken[_pid] = true;
#endif
	   if
	   :: !sent ->
	      sent = true;
	      k = 0;
	      do
	      :: k < N ->
	         if
	         :: k != _pid -> box[k]!1
	         :: else
	         fi;
	         k++
	      :: k < N && deaths < N - 1 -> deaths++; dead[_pid] = true; goto stop
	      :: k >= N -> break
	      od;
	      k = 0
	   :: else
	   fi;
	   taken[_pid] = true
	od;
stop:	skip
}

ltl uniform { [] ((taken[1] && !dead[1]) -> <> (taken[2] || dead[2])) }
