/* The corners of a 2 x 2 x 2 cube (Rubik, 1974), of which one stays: quarter turns of three faces. The
 * twists are left out. */
#ifndef SIDES
#define SIDES 8
#endif
byte corner[SIDES];

#define TURN(a, b, c, d) :: d_step { t = corner[a]; corner[a] = corner[b]; corner[b] = corner[c]; \
	corner[c] = corner[d]; corner[d] = t; t = 0 }

init {
	byte t;
	d_step {
		for (t : 0 .. SIDES - 1) { corner[t] = t };
		t = 0
	};
end:	do
	TURN(0, 1, 2, 3) TURN(3, 2, 1, 0)
	TURN(0, 3, 7, 4) TURN(4, 7, 3, 0)
	TURN(0, 4, 5, 1) TURN(1, 5, 4, 0)
	TURN(4, 5, 6, 7) TURN(7, 6, 5, 4)
	od
}
