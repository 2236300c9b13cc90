/* A client asks two servers and takes the first answer, or gives up when nothing else happens.
   -D BUG: the answer's channel has no room, and the second server hangs. */
#ifdef BUG
#define ROOM 0
#else
#define ROOM 1
#endif
#ifndef N
#define N 3
#endif
chan ask[N] = [1] of { bit };
chan ans[N] = [ROOM] of { byte };
byte lost;

active [N] proctype Server() {
	byte v;
	ask[_pid]?_;
	v = _pid + 1;
	if
	:: ans[_pid]!v
	:: lost < 1 -> lost++
	fi
}

active proctype Client() {
	byte i, v;
	for (i : 0 .. N - 1) { ask[i]!0 }
	if
	:: ans[0]?v
	:: ans[1]?v
	:: ans[2]?v
	:: timeout
	fi;
	assert(v <= N)
}
