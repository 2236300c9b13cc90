/* Fibonacci numbers by processes that start processes, and answer on a channel that they got
   as a parameter. */
#ifndef N
#define N 4
#endif

proctype fib(byte n; chan answer) {
	byte a, b;
	chan c = [1] of { byte };
	if
	:: n < 2 -> answer!n
	:: else ->
	   run fib(n - 1, c);
	   run fib(n - 2, c);
	   c?a;
	   c?b;
	   answer!a + b
	fi
}

init {
	chan r = [0] of { byte };
	byte v;
	run fib(N, r);
	r?v;
	assert(v == (N == 3 -> 2 : 3))
}
