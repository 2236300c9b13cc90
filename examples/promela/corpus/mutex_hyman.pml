/* Hyman's algorithm, which is wrong. */
#ifndef R
#define R 4
#endif
bool b[2];
byte k, critical;

active [2] proctype P() {
	byte r;
	for (r : 1 .. R) {
		b[_pid] = true;
		do
		:: k != _pid -> !b[1 - _pid]; k = _pid
		:: else -> break
		od;
		critical++;
		assert(critical == 1);
		critical--;
		b[_pid] = false
	}
}
