/* changroberts.pml: leader election of Chang and Roberts (1979) in a ring; the twin of
 * changroberts.model. */
#ifndef N
#define N 6
#endif

chan ring[N] = [N] of { byte };
byte leaders;

#define me (N - _pid)
#define next ((_pid + 1) % N)

active [N] proctype Node() {
	byte n;
	ring[next]!me;
end:	do
	:: d_step { ring[_pid]?n ->
		if
		:: n > me -> ring[next]!n
		:: n == me ->
			assert(me == N);
			leaders++
		:: else
		fi;
		n = 0 }
	od
}

ltl elected { <> [] (leaders == 1) }
ltl alone { [] (leaders < 2) }
