/* A bitonic network on four wires; comparators are processes with channels. */
chan w[16] = [1] of { byte };	/* w[level * 4 + wire] */
byte out[4];

proctype Compare(byte level, i, j; bit up) {
	byte a, b;
	w[level * 4 + i]?a;
	w[level * 4 + j]?b;
	if
	:: (a > b) == up -> w[level * 4 + 4 + i]!b; w[level * 4 + 4 + j]!a
	:: else -> w[level * 4 + 4 + i]!a; w[level * 4 + 4 + j]!b
	fi
}

proctype In(byte i) { byte v; v = 4 - i; w[i]!v }

proctype Out(byte i) { byte v; w[12 + i]?v; out[i] = v }

init {
	byte i;
	atomic {
		for (i : 0 .. 3) { run In(i); run Out(i) }
		run Compare(0, 0, 1, 1); run Compare(0, 2, 3, 0);
		run Compare(1, 0, 2, 1); run Compare(1, 1, 3, 1);
		run Compare(2, 0, 1, 1); run Compare(2, 2, 3, 1)
	}
	_nr_pr == 1;
	for (i : 1 .. 3) { assert(out[i - 1] <= out[i]) }
}
