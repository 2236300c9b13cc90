mtype = { red, green, blue };
typedef T { byte a; bit b[2] };
byte x = 1; bit y; int z; byte arr[3]; mtype m = green; T t; short s; unsigned u : 3;
chan q = [1] of { byte };
chan rv = [0] of { byte, bit };
chan qm = [1] of { mtype, byte };
chan qa[2] = [1] of { byte };
inline inc(v) { byte tmp = 1; v = v + tmp }
active proctype P0() {
	byte a; 
	{
		atomic {
			atomic {
				a = 2;
				qa[y]!x
			};
			{
				rv!x,y
			};
			rv!1,0
		}
	} unless {
		if
			:: rv!x,y; skip
			:: qm?red,a
			:: for (a : 0 .. 1) {
					q?a
				}; q!s
		fi
	};
	rv?1,_;
	qm!red,x
}
active proctype P1() {
	byte a; 
	qm??<red,a> ->
	q??1 ->
	u = 0 ->
	a++
}
active proctype P2() {
	byte a = x; 
	(x <= u);
	q!3;
	q!a;
	a = 2
}
proctype C(byte k) { byte a; q!k }
