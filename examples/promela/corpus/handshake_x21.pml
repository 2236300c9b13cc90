/* Two sides of a link that call, accept and clear, in the manner of X.21; what comes in the wrong
   state is an error unless it is expected (-D BUG leaves a collision of calls out). */
mtype = { call, accept, clear, confirm, data };
chan ab = [1] of { mtype };
chan ba = [1] of { mtype };
byte talking;

proctype Side(chan in, out; bit side) {
idle:
end:	if
	:: in?call -> goto called
	:: in?clear -> out!confirm; goto idle
	:: out!call -> goto calling
	fi;
calling:
	if
	:: in?accept -> goto connected
	:: in?clear -> out!confirm; goto idle
#ifndef BUG
	:: in?call ->
	   if
	   :: side == 0 -> goto calling
	   :: else -> goto called
	   fi
#endif
	fi;
called:
	if
	:: out!accept -> goto connected
	:: out!clear -> goto clearing
	:: in?clear -> out!confirm; goto idle
	fi;
connected:
	if
	:: out!data -> goto connected
	:: in?data -> goto connected
	:: out!clear -> goto clearing
	:: in?clear -> out!confirm; goto idle
	fi;
clearing:
	do
	:: in?confirm -> goto idle
	:: in?clear -> out!confirm
	:: in?data
	:: in?call
	:: in?accept
	od
}

init {
	atomic {
		run Side(ba, ab, 0);
		run Side(ab, ba, 1)
	}
}
