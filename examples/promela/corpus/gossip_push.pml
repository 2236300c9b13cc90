/* A rumour: who hears it first passes it on to two others, over an array of channels. */
#ifndef N
#define N 4
#endif
chan c[N] = [N] of { byte };
byte heard;

active [N] proctype Node() {
	byte hops, k;
	if
	:: _pid == 0 -> heard++
	:: c[_pid]?hops -> heard++
	fi;
	k = (_pid + 1) % N;
	c[k]!hops + 1;
	if
	:: k = (k + 1) % N; c[k]!hops + 1
	:: skip
	fi;
end:	do :: c[_pid]?hops od
}

active proctype Check() { timeout; assert(heard == N) }
