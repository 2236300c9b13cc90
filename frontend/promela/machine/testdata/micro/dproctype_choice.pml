mtype = { red, green, blue };
typedef T { byte a; bit b[2] };
byte x = 2; bit y; int z; byte arr[3]; mtype m = green; T t; short s; unsigned u : 3;
chan q = [1] of { byte };
chan rv = [0] of { byte, bit };
chan qm = [2] of { mtype, byte };
chan qa[2] = [1] of { byte };
mtype:fruit = { apple, pear }; mtype:fruit fr = apple; chan qt = [1] of { T }; T tt; chan cc = [1] of { chan }; chan ch; local byte lo; show byte sh;
inline inc(v) { byte tmp = 1; v = v + tmp }
active D_proctype P0() {
	byte a = x; 
	if
		:: assert(true); byte d0 = m
		:: skip
		:: skip; select(a : 0 .. 3)
		:: else
	fi ->
	if
		:: atomic {
				if
					:: arr[y] = t.a -> skip
					:: assert(!(arr[y] > (x | 1)))
				fi
			} -> {
				x-- ->
				t.b[1] = u
			}
		:: s = 2
		:: run C(x)
	fi;
	y = -y;
	t.a++
}
active D_proctype P1() {
	byte a = x; 
	S1: skip;
	qa[0]?x ->
	t.a--;
	(!(a >= 2))
}
proctype C(byte k) { byte a; atomic { a = k; arr[1] = a } }
