/* Clients put jobs with priorities into a queue that is kept sorted; servers take the first, or one
 * of their own kind. */
#ifndef CAP
#define CAP 3
#endif
#ifndef KINDS
#define KINDS 3
#endif

chan queue = [CAP] of { byte, byte };

active [KINDS] proctype Client() {
	do
	:: queue!!0, _pid
	:: queue!!1, _pid
	:: queue!!2, _pid
	od
}

active proctype First() {
	byte p, k;
	do
	:: queue?p, k; d_step { p = 0; k = 0 }
	od
}

active proctype Own() {
	byte p;
	do
	:: queue??p, 1; p = 0
	od
}
