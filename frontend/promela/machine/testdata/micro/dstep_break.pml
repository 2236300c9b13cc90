mtype = { red, green, blue };
typedef T { byte a; bit b[2] };
byte x = 2; bit y; int z; byte arr[3]; mtype m = green; T t; short s; unsigned u : 3;
chan q = [2] of { byte };
chan rv = [0] of { byte, bit };
chan qm = [1] of { mtype, byte };
chan qa[2] = [1] of { byte };
mtype:fruit = { apple, pear }; mtype:fruit fr = apple; chan qt = [1] of { T }; T tt; chan cc = [1] of { chan }; chan ch; local byte lo; show byte sh;
inline inc(v) { byte tmp = 1; v = v + tmp }
active proctype P0() {
	byte a = x; 
	atomic {
		for (a : 0 .. 1) {
			q!1
		}
	} ->
	atomic {
		s = (m > y);
		d_step {
			byte d0;
			do
				:: x < 2 -> arr[2]++
				:: qm!green(1)
				:: break
			od
		}
	}
}
active proctype P1() {
	byte a; 
	S1: skip;
	select(a : 1 .. 2) ->
	t.b[1] = y
}
proctype C(byte k) { byte a; skip }
