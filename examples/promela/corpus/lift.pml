/* A lift with FLOORS floors, buttons, doors. The door is open only where the lift stands. -D BUG
   moves without closing the door. */
#ifndef FLOORS
#define FLOORS 4
#endif
bool call[FLOORS];
byte at;
bool open, up = true, moving;

active proctype Lift() {
	byte f;
	bool above, below;
	do
	:: d_step {
	      above = false;
	      below = false;
	      f = 0;
	      do
	      :: f < FLOORS ->
	         above = above || (call[f] && f > at);
	         below = below || (call[f] && f < at);
	         f++
	      :: else -> break
	      od;
	      f = 0
	   };
	   if
	   :: call[at] ->
	      moving = false;
	      open = true;
	      call[at] = false
	   :: !call[at] && (above || below) ->
#ifndef BUG
	      open = false;
#endif
	      up = (above && (up || !below));
	      moving = true;
	      if
	      :: up && at < FLOORS - 1 -> at++
	      :: !up && at > 0 -> at--
	      :: else
	      fi
	   :: else -> moving = false
	   fi
	od
}

proctype Person(byte f) {
	do
	:: !call[f] -> call[f] = true
	od
}

init {
	byte i;
	atomic { for (i : 0 .. FLOORS - 1) { run Person(i) } }
}

ltl door { [] !(open && moving) }
ltl arrives { [] (call[2] -> <> (at == 2)) }
