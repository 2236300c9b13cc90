/* Numbers pass through a row of N processes by rendezvous (Hoare, 1978). */
#ifndef N
#define N 3
#endif
#ifndef V
#define V 2
#endif

chan link[N + 1] = [0] of { byte };

active proctype Source() {
	byte x;
	do
	:: link[0]!x
	:: d_step { x = (x + 1) % V }
	od
}

active [N] proctype Cell() {
	byte x;
	do
	:: link[_pid - 1]?x; link[_pid]!x
	od
}

active proctype Sink() {
	byte x;
	do
	:: link[N]?x; x = 0
	od
}
