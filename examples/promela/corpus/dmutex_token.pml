/* A token in a ring of channels; each node works on its own between. -D BUG: two tokens. */
#ifndef N
#define N 3
#endif
#ifndef R
#define R 2
#endif
chan t[N] = [1] of { bit };
byte critical;

proctype Node(chan in, out; bit first) {
	byte r, work;
	xr in;
#ifndef BUG
	xs out;
#endif
	if :: first -> out!0 :: else fi;
	for (r : 1 .. R) {
		work = 0;
		do :: work < 3 -> work++ :: else -> break od;
		in?_;
		critical++;
		assert(critical == 1);
		critical--;
		out!0
	}
end:	in?_
}

init {
	byte i;
	atomic { for (i : 0 .. N - 1) { run Node(t[i], t[(i + 1) % N], i == 0) } }
#ifdef BUG
	t[N / 2]!0
#endif
}
