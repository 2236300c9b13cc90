/* A watchdog that resets a process by an escape (unless); the process gives a sign of life or
   hangs. With timeout as the only clock. */
#ifndef LIVES
#define LIVES 3
#endif
chan alive = [1] of { bit };
bool reset;
byte resets;

active proctype Worker() {
	byte phase;
again:
	{
		do
		:: phase = (phase + 1) % 4;
		   if
		   :: phase == 0 -> alive!1
		   :: else
		   fi
		:: phase == 2 -> hang: false
		od
	} unless { atomic { reset -> reset = false; phase = 0 } };
	if
	:: resets < LIVES -> goto again
	:: else
	fi
}

active proctype Watchdog() {
end:	do
	:: alive?_
	:: timeout ->
	   if
	   :: resets < LIVES -> resets++; reset = true
	   :: else -> break
	   fi
	od
}
