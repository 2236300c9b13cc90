/* A lock server and clients, each with a channel of its own for the answer. */
#ifndef N
#define N 4
#endif
#ifndef R
#define R 2
#endif
mtype = { get, put };
chan ask = [N] of { mtype, byte };
chan ok[N] = [1] of { bit };
byte critical;

active proctype Server() {
	byte who;
end:	do
	:: ask?get, who ->
	   ok[who]!0;
	   ask??put, eval(who)
	od
}

proctype Client(byte i) {
	byte r;
	chan mine = ok[i];
	xr mine;
	for (r : 1 .. R) {
		ask!get, i;
		mine?_;
		critical++;
		assert(critical == 1);
		critical--;
		ask!put, i
	}
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Client(i) } } }
