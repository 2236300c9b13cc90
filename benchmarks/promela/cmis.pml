/* cmis.pml: concurrent merge sort that sorts short pieces by insertion; the
 * Promela twin of cmis.model (Gueta et al., SPIN 2007, figure 9) for trees of
 * three levels (seven nodes), N = 4 C. spin -DC=2 -DN=8 -a cmis.pml
 *
 * Nodes are numbered level by level. The steps are those of cmis.model.
 */
#ifndef C
#define C 2
#endif
#ifndef N
#define N (4 * C)
#endif
#define NODES 7

#define REQUESTED 1
#define BUSY 2
#define DONE 3

/* The cells hold their values plus their index: all cells of the array, in
 * descending order at first, then start with the same value, which a Promela
 * declaration can give. The value of cell i is V[i] - i, between 0 and N-1. */
byte V[N] = N - 1;
byte draft[N];
byte state[NODES];
bool started;

#define A(i) (V[i] - (i))

inline answer() {
	d_step {
		v = p;
		do
		:: v < r -> assert(A(v) <= A(v + 1)); v++
		:: else -> break
		od;
		v = 0;
		state[_pid] = DONE
	}
}

inline merge() {
	d_step { state[2 * _pid + 1] = REQUESTED; state[2 * _pid + 2] = REQUESTED };
	d_step { state[2 * _pid + 1] == DONE && state[2 * _pid + 2] == DONE -> i = p };
	do
	:: d_step { i <= r -> x = A(i) };
	   d_step { draft[i] = x; x = 0; i++ }
	:: d_step { i > r -> i = 0 } -> break
	od;
	i = p;
	j = (p + r) / 2 + 1;
	k = p;
	do
	:: i <= (p + r) / 2 && j <= r && draft[i] <= draft[j];
	   d_step { x = draft[i]; i++ };
	   d_step { V[k] = x + k; x = 0; k++ }
	:: i <= (p + r) / 2 && j <= r && draft[i] > draft[j];
	   d_step { x = draft[j]; j++ };
	   d_step { V[k] = x + k; x = 0; k++ }
	:: i > (p + r) / 2 || j > r -> break
	od;
	do
	:: d_step { i <= (p + r) / 2 -> x = draft[i]; i++ };
	   d_step { V[k] = x + k; x = 0; k++ }
	:: d_step { i > (p + r) / 2 -> i = 0; j = 0; k = 0 };
	   answer();
	   break
	od
}

active [NODES] proctype Node() {
	byte p = (_pid == 0 -> 0 : (_pid < 3 -> (_pid - 1) * 2 * C : (_pid - 3) * C));
	byte r = (_pid == 0 -> N - 1 : (_pid < 3 -> _pid * 2 * C - 1 : (_pid - 2) * C - 1));
	short i, j, k, v, x;
end_idle:
	do
	/* A leaf: InsertSort. */
	:: d_step { _pid >= 3 && state[_pid] == REQUESTED -> state[_pid] = BUSY; j = p + 1 };
	   do
	   :: d_step { j <= r -> v = A(j); i = j - 1 };
	      do
	      :: i > p - 1 && A(i) > v;
		 x = A(i);
		 d_step { V[i + 1] = x + i + 1; x = 0; i-- }
	      :: !(i > p - 1 && A(i) > v);
		 d_step { V[i + 1] = v + i + 1; v = 0; j++ };
		 break
	      od
	   :: d_step { j > r -> j = 0; i = 0 };
	      answer();
	      break
	   od
	/* The root, whose request stands from the start. */
	:: d_step { _pid == 0 && !started -> started = true; state[_pid] = BUSY };
	   merge()
	:: d_step { _pid > 0 && _pid < 3 && state[_pid] == REQUESTED -> state[_pid] = BUSY };
	   merge()
	od
}
