/* Election on a ring (Chang and Roberts, 1979) with channels. */
#ifndef N
#define N 4
#endif

chan ring[N] = [N] of { byte };
bool elected;
byte leaders;

active [N] proctype Node() {
	byte n;
	ring[(_pid + 1) % N]!(_pid * 5) % N;
	do
	:: ring[_pid]?n ->
		if
		:: n > (_pid * 5) % N -> ring[(_pid + 1) % N]!n
		:: n == (_pid * 5) % N -> d_step { leaders++; elected = true }
		:: n < (_pid * 5) % N -> skip
		fi;
		n = 0
	od
}

ltl once { [] (leaders <= 1) }
ltl found { <> [] elected }
