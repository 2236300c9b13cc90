/* Readers and writers by messages to a server that lets one writer or many readers in. */
#ifndef R
#define R 2
#endif
#ifndef W
#define W 2
#endif
mtype = { read, write, end_ };
chan ask = [0] of { mtype, chan };
chan bye = [0] of { mtype };
byte readers, writers;

active proctype Server() {
	byte r, w;
	chan c;
end:	do
	:: w == 0 && r == 0 ->
end2:	   if :: ask?write, c -> w = 1; c!0 :: ask?read, c -> r++; c!0 fi
	:: w == 0 && r > 0 -> if :: ask?read, c -> r++; c!0 :: bye?read -> r-- fi
	:: w == 1 -> bye?write -> w = 0
	od
}

active [R] proctype Reader() {
	chan mine = [0] of { bit };
	byte k;
	for (k : 1 .. 2) {
		ask!read, mine;
		mine?_;
		readers++;
		assert(writers == 0);
		readers--;
		bye!read
	}
}

active [W] proctype Writer() {
	chan mine = [0] of { bit };
	byte k;
	for (k : 1 .. 2) {
		ask!write, mine;
		mine?_;
		writers++;
		assert(writers == 1 && readers == 0);
		writers--;
		bye!write
	}
}
