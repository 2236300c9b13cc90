/* tiles.pml: the sliding puzzle; the twin of tiles.model. */
#ifndef W
#define W 3
#endif
#ifndef H
#define H 3
#endif

byte board[W * H];
byte gap;

inline slide(from) {
	board[gap] = board[from];
	board[from] = 0;
	gap = from
}

active proctype Player() {
	byte k;
	d_step {
		for (k : 0 .. W * H - 1) { board[k] = k }
		k = 0
	}
	do
	:: d_step { gap % W > 0 -> slide(gap - 1) }
	:: d_step { gap % W < W - 1 -> slide(gap + 1) }
	:: d_step { gap >= W -> slide(gap - W) }
	:: d_step { gap < W * (H - 1) -> slide(gap + W) }
	od
}
