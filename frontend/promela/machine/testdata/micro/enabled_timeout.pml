/* enabled(p) is asked again with timeout being true: then B can move, too. */
byte x;
active proctype A() { timeout; x = 1 }
active proctype B() { enabled(0); x = 2 }
