/* The blocks world (Winograd, 1971). N blocks stand on the table or on each other; a free one can be
 * put elsewhere. */
#ifndef N
#define N 4
#endif

byte on[N];     /* the block below, N for the table */
bool under[N];  /* another block stands on it */

init {
	byte b, c;
	d_step {
		for (b : 0 .. N - 1) { on[b] = N };
		b = 0
	};
end:	do
	:: d_step { c == 0 && b < N - 1 -> b++ }
	:: d_step { c == 0 && b == N - 1 -> b = 0 }
	:: d_step { c < N - 1 -> c++ }
	:: d_step { c == N - 1 -> c = 0 }
	:: d_step { !under[b] && !under[c] && b != c && on[b] != c ->
		if :: on[b] < N -> under[on[b]] = false :: else fi;
		on[b] = c;
		under[c] = true
	   }
	:: d_step { !under[b] && on[b] < N -> under[on[b]] = false; on[b] = N }
	od
}
