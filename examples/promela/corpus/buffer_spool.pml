/* Two writers put numbers into a long buffer, a reader takes them out and adds them up. */
#ifndef CAP
#define CAP 4
#endif
#ifndef V
#define V 2
#endif

chan line = [CAP] of { byte };

active [2] proctype Writer() {
	do
	:: line!_pid
	:: line!V
	od
}

active proctype Reader() {
	byte x, sum;
	do
	:: line?x; d_step { sum = (sum + x) % 2; x = 0 }
	od
}
