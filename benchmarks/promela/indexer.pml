/* indexer.pml: threads insert messages into a shared hash table; the Promela
 * twin of indexer.model (Flanagan, Godefroid, POPL 2005; Gueta et al., SPIN
 * 2007, figure 12). spin -DN=8 -a indexer.pml
 *
 * One step is one compare-and-swap with the getmsg and hash that follow it. A
 * process that is done waits forever (its guard is false) instead of dying: the
 * step in which a process dies would be one more local state.
 */
#ifndef N
#define N 8
#endif
#define SIZE 128
#define MAX 4

byte table[SIZE];

active [N] proctype Indexer() {
	byte m = 1;
	byte w = 11 + _pid;
	byte h = ((11 + _pid) * 7) % SIZE;
end:	do
	:: d_step {
		m <= MAX ->
		if
		:: table[h] == 0 ->
			table[h] = w;
			m++;
			if
			:: m <= MAX -> w = m * 11 + _pid; h = (w * 7) % SIZE
			:: else -> w = 0; h = 0
			fi
		:: else -> h = (h + 1) % SIZE
		fi
	   }
	od
}
