mtype = { red, green, blue };
typedef T { byte a; bit b[2] };
byte x = 1; bit y; int z; byte arr[3]; mtype m = green; T t; short s; unsigned u : 3;
chan q = [1] of { byte };
chan rv = [0] of { byte, bit };
chan qm = [2] of { mtype, byte };
chan qa[2] = [1] of { byte };
inline inc(v) { byte tmp = 1; v = v + tmp }
active proctype P0() {
	byte a; chan lq = [1] of { byte }; 
	d_step {
		q!(t.b[1] > arr[1] -> y : (z > (z + arr[y])));
		x = 1 ->
		if
			:: inc(arr[2]); if
					:: inc(a); qm??green,a
					:: (t.b[1] <= u)
					:: (arr[0] >= 2)
				fi
			:: nempty(lq); for (a : 0 .. 2) {
					y = z
				}
			:: {
					inc(x);
					z = z
				}
		fi
	};
	arr[y] = x;
	t.b[1] = 2
}
active proctype P1() {
	byte a = x; 
	q??1 ->
	m = red;
	skip;
	skip
}
proctype C(byte k) { byte a; x = k }
