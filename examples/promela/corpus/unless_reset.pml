/* A sender and a receiver that are interrupted by resets, a dead peer, and a timeout. */
mtype = { abort, data, ack, reset };
chan c = [1] of { mtype }; chan d = [0] of { mtype, byte };
byte n, m; bool dead;
active proctype S() {
	{
		do
		:: n < 3 -> atomic { c!data; n++ }
		:: d!ack(n)
		:: n >= 3 -> break
		od;
		c!ack
	} unless {
		if
		:: c?reset -> m = 7
		:: dead -> m = 8; goto out
		:: timeout -> m = 9
		fi
	};
	m++;
out:	skip
}
active proctype R() {
	mtype x; byte v;
	do
	:: { c?x; if :: x == ack -> break :: else fi } unless { d?x,v -> assert(v <= 3) }
	:: v > 1 -> dead = true; break
	:: c!reset
	od
}
