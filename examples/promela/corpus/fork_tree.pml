/* A binary tree of processes: a node creates two, adds what they send, and sends it up. */
#ifndef D
#define D 2
#endif
proctype Node(chan up; byte depth) {
	chan l = [1] of { byte };
	chan r = [0] of { byte };
	byte a, b;
	if
	:: depth == 0 -> up!1
	:: else ->
	   run Node(l, depth - 1);
	   run Node(r, depth - 1);
	   l?a;
	   r?b;
	   up!a + b
	fi
}

init {
	chan c = [0] of { byte };
	byte n;
	run Node(c, D);
	c?n;
	assert(n == 1 << D)
}
