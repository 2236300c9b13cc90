/* Accounts as processes; a transfer is a message with the channel for the answer. */
#ifndef N
#define N 3
#endif
mtype = { take, give };
chan acc[N] = [1] of { mtype, byte, chan };
byte total = 6;

proctype Account(byte i) {
	byte have = 2, v;
	mtype m;
	chan back;
end:	do
	:: acc[i]?m, v, back ->
	   if
	   :: m == give -> have = have + v; back!1
	   :: m == take && have >= v -> have = have - v; back!1
	   :: else -> back!0
	   fi;
	   assert(have <= total)
	od
}

proctype Transfer(byte from, to, v) {
	chan mine = [1] of { bit };
	bit ok;
	acc[from]!take, v, mine;
	mine?ok;
	if :: ok -> acc[to]!give, v, mine; mine?ok; assert(ok) :: else fi
}

init {
	byte i;
	atomic {
		for (i : 0 .. N - 1) { run Account(i) }
		run Transfer(0, 1, 2); run Transfer(1, 2, 3); run Transfer(2, 0, 1)
	}
}
