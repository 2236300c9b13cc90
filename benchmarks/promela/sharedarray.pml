/* sharedarray.pml: two threads write the odd and the even cells of an array;
 * the Promela twin of sharedarray.model (Gueta et al., SPIN 2007, figure 10).
 * spin -DN=64 -a sharedarray.pml
 *
 * A process that is done waits forever (false) instead of dying: the step in
 * which a process dies would be one more local state.
 */
#ifndef N
#define N 64
#endif

short A[N];
short idx[2] = { 0, 1 };
short counter = 1;

active [2] proctype Writer() {
	do
	:: d_step {
		idx[_pid] < N ->
		A[idx[_pid]] = counter + idx[_pid];
		idx[_pid] = idx[_pid] + 2
	   }
	:: d_step {
		idx[_pid] >= N ->
		counter = counter + 1 + idx[1 - _pid];
		assert(counter <= 2 * N + 4)
	   };
	   break
	od;
end:	false
}
