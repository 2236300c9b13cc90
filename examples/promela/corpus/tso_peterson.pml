/* Peterson's algorithm on a machine with store buffers (x86): a channel per process holds
   the stores. Without a fence (-D BUG) it is no mutual exclusion. */
#ifndef DEPTH
#define DEPTH 2
#endif
mtype = { FLAG0, FLAG1, TURN };
chan buf[2] = [DEPTH] of { mtype, byte };
byte flag[2], turn, inside;

#define store(var, v) buf[_pid]!var(v)
#ifdef BUG
#define fence skip
#else
#define fence empty(buf[_pid])
#endif

active [2] proctype P() {
	byte other;
	do
	:: if
	   :: _pid == 0 -> store(FLAG0, 1)
	   :: else -> store(FLAG1, 1)
	   fi;
	   store(TURN, 1 - _pid);
	   fence;
	   do
	   :: atomic { other = flag[1 - _pid] ->
	      if
	      :: !other -> break
	      :: else
	      fi }
	   :: turn == _pid -> break
	   od;
	   other = 0;
	   inside++;
	   assert(inside == 1);
	   inside--;
	   if
	   :: _pid == 0 -> store(FLAG0, 0)
	   :: else -> store(FLAG1, 0)
	   fi
	od
}

active [2] proctype Memory() {
	byte me = _pid - 2, v;
end:	do
	:: d_step { buf[me]?FLAG0(v) -> flag[0] = v; v = 0 }
	:: d_step { buf[me]?FLAG1(v) -> flag[1] = v; v = 0 }
	:: d_step { buf[me]?TURN(v) -> turn = v; v = 0 }
	od
}
