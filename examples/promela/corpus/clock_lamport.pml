/* Lamport's clocks: a message carries the sender's time. -D BUG: a receiver does not go past it. */
#ifndef N
#define N 3
#endif
#ifndef T
#define T 2
#endif
chan box[N] = [2] of { byte, byte };
byte clock[N];

active [N] proctype P() {
	byte from, t, k;
end:	do
	:: clock[_pid] < T ->
	   atomic {
	      clock[_pid]++;
	      select (k : 0 .. N - 1);
	      if
	      :: k != _pid && nfull(box[k]) -> box[k]!_pid,clock[_pid]
	      :: else
	      fi;
	      k = 0
	   }
	:: atomic { box[_pid]?from,t ->
#ifndef BUG
	      if
	      :: t > clock[_pid] -> clock[_pid] = t
	      :: else
	      fi;
#endif
	      clock[_pid]++;
	      assert(clock[_pid] > t);
	      from = 0; t = 0 }
	od
}
