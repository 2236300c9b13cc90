/* Peterson's algorithm for two processes, with a bug behind BUG: the turn is
   given away before the flag is raised. */
bool flag[2];
byte turn, critical;

active [2] proctype Process() {
	byte me = _pid;
	byte other = 1 - _pid;
	do
	::
#ifdef BUG
		turn = other;
		flag[me] = true;
#else
		flag[me] = true;
		turn = other;
#endif
		(!flag[other] || turn == me);
		critical++;
		assert(critical == 1);
		critical--;
		flag[me] = false
	od
}
