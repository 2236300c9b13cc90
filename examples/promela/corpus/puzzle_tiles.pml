/* The sliding puzzle of Chapman (1880) on a board of W x H. All positions that can be reached. */
#ifndef W
#define W 2
#endif
#ifndef H
#define H 3
#endif
#define SIZE (W * H)

byte tile[SIZE]; /* 0: the gap */
byte gap;

#define SLIDE(from) tile[gap] = tile[from]; gap = from; tile[gap] = 0

init {
	d_step {
		byte i;
		for (i : 0 .. SIZE - 2) { tile[i] = i + 1 };
		gap = SIZE - 1;
		i = 0
	};
end:	do
	:: d_step { gap % W > 0 -> SLIDE(gap - 1) }
	:: d_step { gap % W < W - 1 -> SLIDE(gap + 1) }
	:: d_step { gap >= W -> SLIDE(gap - W) }
	:: d_step { gap < SIZE - W -> SLIDE(gap + W) }
	od
}
