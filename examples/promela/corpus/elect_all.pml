/* In a complete network everybody sends its number to everybody, and the largest leads. */
#ifndef N
#define N 3
#endif
chan c[N] = [N] of { byte };
byte leaders;

active [N] proctype Node() {
	byte k, v, max = _pid;
	for (k : 0 .. N - 1) { if :: k != _pid -> c[k]!_pid :: else fi }
	for (k : 1 .. N - 1) { c[_pid]?v; if :: v > max -> max = v :: else fi }
	if :: max == _pid -> leaders++ :: else fi;
	assert(max == N - 1 && leaders <= 1)
}
