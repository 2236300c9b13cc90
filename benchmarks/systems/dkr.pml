/* dkr.pml: leader election of Dolev, Klawe and Rodeh (1982) in a ring; the twin of dkr.model. */
#ifndef N
#define N 6
#endif

chan ring[N] = [2 * N] of { bool, byte };
byte leaders;

#define next ((_pid + 1) % N)

active [N] proctype Node() {
	bool active1 = true, second;
	byte value = (_pid * 5) % N + 1, near, v;
	ring[next]!false, value;
end:	do
	:: d_step { ring[_pid]?second, v ->
		if
		:: !active1 -> ring[next]!second, v
		:: active1 && !second && v != value ->
			near = v;
			ring[next]!true, near
		:: active1 && !second && v == value ->
			assert(value == N);
			leaders++
		:: active1 && second && near > v && near > value ->
			value = near;
			near = 0;
			ring[next]!false, value
		:: else ->
			active1 = false;
			near = 0;
			value = 0
		fi;
		second = false; v = 0 }
	od
}
