/* Peterson's algorithm for two, with remote references in the claim. -D BUG sets
   turn before the flag. */
bool want[2];
bit turn;

active [2] proctype user() {
	do
	::
#ifdef BUG
	   turn = 1 - _pid;
	   want[_pid] = true;
#else
	   want[_pid] = true;
	   turn = 1 - _pid;
#endif
	   !want[1 - _pid] || turn == _pid;
crit:	   skip;
	   want[_pid] = false
	od
}

ltl safe { [] !(user[0]@crit && user[1]@crit) }
ltl served { [] (want[0] -> <> user[0]@crit) }
