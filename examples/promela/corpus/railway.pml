/* A level crossing on a single track used by trains from both sides, with gate, sensor channels and
   a signaller. -D BUG opens the gate when the first of two trains has left. */
#ifndef TRAINS
#define TRAINS 3
#endif
mtype = { near, gone };
chan sensor = [TRAINS] of { mtype };
chan pass = [TRAINS] of { bit };
bool closed;
byte onroad, crossing;

active [TRAINS] proctype Train() {
	do
	:: sensor!near;
	   pass?_;
	   crossing++;
	   crossing--;
	   sensor!gone
	od
}

active proctype Signaller() {
	byte n;
	do
	:: sensor?near -> n++;
	   atomic { onroad == 0 -> closed = true };
	   pass!1
	:: sensor?gone ->
	   n--;
	   if
#ifdef BUG
	   :: closed = false
#else
	   :: n == 0 -> closed = false
#endif
	   :: n > 0
	   fi
	od
}

active proctype Car() {
	do
	:: atomic { !closed -> onroad++ };
	   assert(crossing == 0 || closed);
	   onroad--
	od
}
