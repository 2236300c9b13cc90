/* A provided clause may look at a parameter where it is an index. */
byte x, a[3];

proctype R(byte id) provided (a[id] > 0) { x++; x = x + id }

init {
	atomic { run R(1); run R(2) };
	a[2] = 1;
	a[1] = 1;
	a[2] = 0
}
