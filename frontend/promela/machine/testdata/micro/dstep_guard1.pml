mtype = { red, green, blue };
typedef T { byte a; bit b[2] };
byte x = 1; bit y; int z; byte arr[3]; mtype m = green; T t; short s; unsigned u : 3;
chan q = [1] of { byte };
chan rv = [0] of { byte, bit };
chan qm = [1] of { mtype, byte };
chan qa[2] = [1] of { byte };
inline inc(v) { byte tmp = 1; v = v + tmp }
active proctype P0() {
	byte a = x; 
	{
		timeout
	};
	timeout;
	qm?eval(m),_
}
active proctype P1() provided (x != 2 || y) {
	byte a = x; 
	byte d0;
	d_step {
		if
			:: do
					:: x < 2 -> x++
					:: inc(arr[2]) -> y = 0; break
					:: q!(a != arr[0] -> arr[0] : (arr[0] + (t.a < y))) -> x++
					:: else -> break
				od; q?_
			:: inc(a)
			:: qm??green,a -> a = 2
			:: else -> inc(a)
		fi
	} ->
	qm!!m,y;
	inc(x)
}
proctype C(byte k) { byte a; q!k }
