/* Sorting by reversing prefixes (Goodman, 1975). All orders of N pancakes. */
#ifndef N
#define N 6
#endif

byte stack[N];

inline flip(n) {
	a = 0;
	b = n - 1;
	do
	:: a < b -> t = stack[a]; stack[a] = stack[b]; stack[b] = t; a++; b--
	:: else -> break
	od;
	a = 0;
	b = 0;
	t = 0
}

init {
	byte a, b, t, n;
	d_step {
		for (n : 0 .. N - 1) { stack[n] = n };
		n = 2
	};
end:	do
	:: d_step { n < N -> n++ }
	:: d_step { n > 2 -> n-- }
	:: d_step { flip(n) }
	od
}
