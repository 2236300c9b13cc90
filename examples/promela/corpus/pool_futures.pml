/* Jobs carry the channel on which the answer is awaited. */
#ifndef C
#define C 3
#endif
#ifndef W
#define W 2
#endif
chan jobs = [1] of { byte, chan };

active [W] proctype Worker() {
	byte v;
	chan back;
end:	do
	:: jobs?v, back -> v = v + 10; back!v
	od
}

active [C] proctype Client() {
	chan mine = [1] of { byte };
	byte r;
	jobs!_pid, mine;
	mine?r;
	assert(r == _pid + 10);
	jobs!r, mine;
	mine?r;
	assert(r == _pid + 20)
}
