/* errgroup: the first failure cancels the others, which look at the flag between steps; the
   group reports one error. */
#ifndef N
#define N 3
#endif
bool cancelled;
byte running = N;
chan err = [1] of { byte };

active [N] proctype Task() {
	byte k;
	do
	:: cancelled -> break
	:: !cancelled && k < 2 -> k++
	:: !cancelled && k == 2 -> break
	:: k == 1 && _pid > 0 ->
	   atomic { if :: nfull(err) -> err!_pid :: full(err) fi };
	   cancelled = true;
	   break
	od;
	running--
}

active proctype Wait() {
	byte e;
	running == 0;
	if
	:: err?e -> assert(e > 0 && e < N && cancelled)
	:: empty(err) -> assert(!cancelled)
	fi
}
