/* A message-passing kernel in the manner of L4 (Liedtke, 1995): threads call a server by rendezvous,
 * which answers through the caller's own port, given as a value. */
#ifndef N
#define N 2
#endif

chan call = [0] of { chan, byte };
chan port[N] = [1] of { byte };
byte total;

active [N] proctype Client() {
	byte r;
	do
	:: call!port[_pid], _pid % 2; port[_pid]?r; r = 0
	:: call!port[_pid], 2; port[_pid]?r; r = 0
	od
}

active [2] proctype Server() {
	chan reply;
	byte x;
	do
	:: call?reply, x; d_step { total = (total + x) % 3; x = 0 }; reply!total
	od
}
