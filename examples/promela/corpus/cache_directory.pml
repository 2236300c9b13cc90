/* Cache coherence with a directory (Censier and Feautrier, 1978): requests and answers in channels. */
#ifndef N
#define N 2
#endif
mtype = { read, write, data, invalidate, acknowledge };

chan request = [N] of { mtype, byte };
chan answer[N] = [2] of { mtype };
chan back = [N] of { byte };
byte state[N]; /* 0 invalid, 1 shared, 2 exclusive */

#define exclusive(i) (state[(i + 1) % N] == 0)

active [N] proctype Cache() {
end:	do
	:: state[_pid] == 0 -> request!read, _pid;
wait1:		if
		:: answer[_pid]?data -> state[_pid] = 1
		:: answer[_pid]?invalidate -> back!_pid; goto wait1
		fi
	:: state[_pid] < 2 -> request!write, _pid;
wait2:		if
		:: answer[_pid]?data -> state[_pid] = 2
		:: answer[_pid]?invalidate -> state[_pid] = 0; back!_pid; goto wait2
		fi
	:: answer[_pid]?invalidate -> state[_pid] = 0; back!_pid
	:: d_step { state[_pid] == 2 -> assert(exclusive(_pid)) }
	od
}



active proctype Directory() {
	bool has[N];
	byte who, k, waits, from;
	mtype what;
end:	do
	:: request?what, who;
		k = 0;
		do
		:: k < N && has[k] && k != who -> answer[k]!invalidate; has[k] = false; waits++; k++
		:: k < N && !(has[k] && k != who) -> k++
		:: k == N -> break
		od;
		do
		:: waits > 0 -> back?from; waits--
		:: else -> break
		od;
		has[who] = true;
		answer[who]!data;
		d_step { who = 0; k = 0; from = 0; what = 0 }
	od
}
