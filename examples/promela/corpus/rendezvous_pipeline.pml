/* Producer, two filters and a consumer joined by rendezvous, with messages of several fields and
   pattern matching. */
mtype = { num, eof };
mtype:colour = { red, green, blue };
chan a = [0] of { mtype, byte, mtype:colour };
chan b = [0] of { mtype, byte, mtype:colour };
chan c = [0] of { mtype, byte, mtype:colour };

active proctype Producer() {
	byte i;
	mtype:colour k;
	for (i : 1 .. 6) {
		if
		:: k = red
		:: k = green
		:: k = blue
		fi;
		a!num(i, k)
	}
	a!eof(0, red)
}

active [2] proctype Filter() {
	byte v;
	mtype:colour k;
	chan in, out;
	if
	:: _pid == 1 -> in = a; out = b
	:: else -> in = b; out = c
	fi;
	do
	:: in?num(v, red) -> out!num(v, green)
	:: in?num(v, green) -> out!num(v + 1, blue)
	:: in?num(v, blue) -> skip
	:: in?eof(v, k) -> out!eof(v, k); break
	od
}

active proctype Consumer() {
	byte n, v;
	mtype:colour k;
	do
	:: c?num(v, k) -> n++; assert(k == blue)
	:: c?eof(_, _) -> break
	od;
	assert(n <= 6);
	printf("%d of 6, last %e\n", n, k)
}
