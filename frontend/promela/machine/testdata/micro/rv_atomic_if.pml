byte x; byte y;
chan rv = [0] of { byte, bit };
active [2] proctype P1() {
	byte a;
	if
		:: atomic {
				a++;
				a > 0;
				if
					:: x = 0 -> rv!1,0
					:: a = 2; y > 3
				fi
			}
		:: y = 2; rv?x,0
	fi;
	skip;
	x++
}
