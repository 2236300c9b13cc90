/* A snapshot after Chandy and Lamport of two processes that send money to each other. The sum in
   the snapshot is what there is. -D BUG records no messages on their way. */
#ifndef M
#define M 4
#endif
mtype = { money, marker };
chan q[2] = [4] of { mtype };
byte has[2] = M;
byte saved[2], onway[2];
bool recorded[2], over[2];

inline record() {
	saved[_pid] = has[_pid];
	recorded[_pid] = true;
	q[1 - _pid]!marker
}

active [2] proctype P() {
end:	do
	:: atomic { has[_pid] > 0 && nfull(q[1 - _pid]) -> has[_pid]--; q[1 - _pid]!money }
	:: atomic { q[_pid]?money ->
	      has[_pid]++;
#ifndef BUG
	      if
	      :: recorded[_pid] && !over[_pid] -> onway[_pid]++
	      :: else
	      fi
#endif
	   }
	:: atomic { q[_pid]?marker ->
	      if
	      :: !recorded[_pid] -> record()
	      :: else
	      fi;
	      over[_pid] = true;
	      assert(!(over[0] && over[1]) || saved[0] + saved[1] + onway[0] + onway[1] == 2 * M) }
	:: atomic { _pid == 0 && !recorded[0] && nfull(q[1]) -> record() }
	od
}
