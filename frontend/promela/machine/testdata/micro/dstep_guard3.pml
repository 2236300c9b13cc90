mtype = { red, green, blue };
typedef T { byte a; bit b[2] };
byte x = 0; bit y; int z; byte arr[3]; mtype m = green; T t; short s; unsigned u : 3;
chan q = [2] of { byte };
chan rv = [0] of { byte, bit };
chan qm = [2] of { mtype, byte };
chan qa[2] = [1] of { byte };
inline inc(v) { v++; skip }
active proctype P0() {
	byte a; 
	d_step {
		if
			:: q?1
			:: do
					:: a < 2 -> x = x + 1; a = x
					:: q!a -> z = 2
					:: else -> break
				od
		fi;
		t.a = t.a ->
		x = 1
	};
	(!(arr[0] <= (a + x)));
	q!1;
	if
		:: qm?<m,a>
		:: t.b[1] = 2 -> timeout
	fi
}
active proctype P1() {
	byte a; chan lq = [1] of { byte }; 
	(_nr_pr < 4);
	inc(arr[2])
}
active proctype P2() {
	byte a = x; 
	m = blue;
	qa[y]!x
}
proctype C(byte k) { byte a; skip }
