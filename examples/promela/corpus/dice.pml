/* Each of N players throws, and waits for a judge who never comes: every result is an invalid
 * end state. */
#ifndef N
#define N 3
#endif
#ifndef S
#define S 6
#endif

chan judge = [0] of { byte };

active [N] proctype Player() {
	byte x;
	atomic { select(x : 1 .. S) };
	judge!x
}
