/* termination.pml: detection of termination (EWD 840) in a ring of N machines, at most 8; the
 * twin of termination.model. */
#ifndef N
#define N 7
#endif

bool active1[N] = true, black[N];
byte token;		/* where it is */
bool taint = true;	/* whether it is black */
bool detected;

#define wake(k) :: d_step { k < N && k != _pid && !detected && active1[_pid] ->	\
		active1[k % N] = true;							\
		if :: k > _pid -> black[_pid] = true :: else fi }

active [N] proctype Machine() {
	byte k;
end:	do
	wake(0)
	wake(1)
	wake(2)
	wake(3)
	wake(4)
	wake(5)
	wake(6)
	wake(7)
	:: d_step { !detected && active1[_pid] -> active1[_pid] = false }
	:: d_step { !detected && _pid > 0 && token == _pid && !active1[_pid] ->
		token = _pid - 1;
		taint = taint || black[_pid];
		black[_pid] = false }
	:: d_step { !detected && _pid == 0 && token == 0 && !active1[0] && (taint || black[0]) ->
		token = N - 1;		/* again */
		taint = false;
		black[0] = false }
	:: d_step { !detected && _pid == 0 && token == 0 && !active1[0] && !taint && !black[0] ->
		detected = true;
		for (k : 0 .. N - 1) { assert(!active1[k]) }
		k = 0 }
	od
}
