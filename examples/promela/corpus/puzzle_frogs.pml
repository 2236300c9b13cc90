/* N frogs of each of two colors in a row with one gap (Lucas, 1883). A frog steps into the gap or
 * jumps over one other, in either direction. */
#ifndef N
#define N 4
#endif
#define SIZE (2 * N + 1)

byte at[SIZE];
byte gap;

#define JUMP(by) at[gap] = at[gap + by]; gap = gap + by; at[gap] = 0

init {
	d_step {
		byte i;
		for (i : 0 .. N - 1) { at[i] = 1; at[N + 1 + i] = 2 };
		gap = N;
		i = 0
	};
end:	do
	:: d_step { gap > 0 -> JUMP(-1) }
	:: d_step { gap > 1 -> JUMP(-2) }
	:: d_step { gap < SIZE - 1 -> JUMP(1) }
	:: d_step { gap < SIZE - 2 -> JUMP(2) }
	od
}
