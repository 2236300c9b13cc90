/* Requests pass when the ticker has ticked; the clock ticks when nothing else can happen. */
#ifndef N
#define N 3
#endif
#ifndef K
#define K 2
#endif
chan tick = [1] of { bit };
byte passed, time;

active [N] proctype Request() {
	byte k;
	for (k : 1 .. K) { tick?_; passed++; assert(passed <= time) }
}

active proctype Clock() {
	do
	:: timeout && passed < N * K -> atomic { time++; tick!0 }
	:: passed == N * K -> break
	od
}
