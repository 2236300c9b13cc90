/* Kessels' algorithm: Peterson's turn as two bits, each of which one process writes. */
bit b[2], v[2];
byte critical;
#ifndef R
#define R 20
#endif
active [2] proctype P() {
	bit mine;
	byte r;
	for (r : 1 .. R) {
		b[_pid] = 1;
		mine = (v[1 - _pid] + _pid) % 2;
		v[_pid] = mine;
		(b[1 - _pid] == 0 || mine != (v[1 - _pid] + _pid) % 2);
		critical++;
		assert(critical == 1);
		critical--;
		b[_pid] = 0
	}
}
