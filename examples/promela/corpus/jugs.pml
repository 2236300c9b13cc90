/* Two jugs of A and B litres, and a tap: can one measure GOAL? */
#ifndef A
#define A 5
#endif
#ifndef B
#define B 3
#endif
#ifndef GOAL
#define GOAL 4
#endif
byte a, b;
#define min(x, y) (x < y -> x : y)

active proctype Pour() {
	byte n;
	do
	:: a = A
	:: b = B
	:: a = 0
	:: b = 0
	:: d_step { n = min(a, B - b); a = a - n; b = b + n; n = 0 }
	:: d_step { n = min(b, A - a); b = b - n; a = a + n; n = 0 }
	od
}

ltl never_there { [] (a != GOAL && b != GOAL) }
