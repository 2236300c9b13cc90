/* Lamport's distributed mutual exclusion: requests with clocks, acknowledged, and a release.
   -D BUG: nobody waits for acknowledgements. */
#ifndef N
#define N 2
#endif
#ifndef R
#define R 2
#endif
mtype = { req, ack, rel };
chan c[N * N] = [3] of { mtype, byte };	/* c[i * N + j] goes from i to j */
byte critical;

proctype P(byte i) {
	byte clock = 1, t, k, r, acks;
	byte q[N];	/* requests, 0: none */
	bit wants;
	do
	:: !wants && r < R ->
	   r++; wants = 1; q[i] = clock; acks = 0;
	   k = 0;
	   do
	   :: k < N -> if :: k != i -> c[i * N + k]!req, clock :: else fi; k++
	   :: else -> break
	   od
	:: c[(N - 1 - i) * N + i]?req, t -> q[N - 1 - i] = t; clock = (t >= clock -> t + 1 : clock);
	   c[i * N + N - 1 - i]!ack, clock
	:: c[(N - 1 - i) * N + i]?ack, t -> acks++; clock = (t >= clock -> t + 1 : clock)
	:: c[(N - 1 - i) * N + i]?rel, t -> q[N - 1 - i] = 0
#ifdef BUG
	:: wants &&
#else
	:: wants && acks == N - 1 &&
#endif
	   (q[N - 1 - i] == 0 || q[i] < q[N - 1 - i] || q[i] == q[N - 1 - i] && i == 0) ->
	   critical++;
	   assert(critical == 1);
	   critical--;
	   wants = 0; q[i] = 0; clock++;
	   c[i * N + N - 1 - i]!rel, clock
	:: !wants && r == R -> break
	od;
end:	do
	:: c[(N - 1 - i) * N + i]?req, t -> clock = (t >= clock -> t + 1 : clock); c[i * N + N - 1 - i]!ack, clock
	:: c[(N - 1 - i) * N + i]?ack, t
	:: c[(N - 1 - i) * N + i]?rel, t
	od
}

init { atomic { run P(0); run P(1) } }
