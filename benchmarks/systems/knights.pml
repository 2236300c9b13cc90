/* knights.pml: Guarini's puzzle; the twin of knights.model. */
#ifndef W
#define W 4
#endif
#ifndef H
#define H 4
#endif
#ifndef K
#define K 3
#endif
#define FREE	0
#define WHITE	1
#define BLACK	2

byte board[W * H];
bool ready;

#define x(dx) (_pid % W + dx)
#define y(dy) (_pid / W + dy)
#define jump(dx, dy) :: d_step {						\
		ready && board[_pid] != FREE && x(dx) >= 0 && x(dx) < W &&	\
		y(dy) >= 0 && y(dy) < H && board[y(dy) * W + x(dx)] == FREE ->	\
		board[y(dy) * W + x(dx)] = board[_pid];				\
		board[_pid] = FREE }

active [W * H] proctype Square() {
	byte k;
	do
	:: d_step { !ready && _pid == 0 ->
		for (k : 0 .. K - 1) {
			board[k] = WHITE;
			board[W * H - 1 - k] = BLACK
		}
		k = 0;
		ready = true }
	jump(1, 2)
	jump(2, 1)
	jump(2, -1)
	jump(1, -2)
	jump(-1, -2)
	jump(-2, -1)
	jump(-2, 1)
	jump(-1, 2)
	od
}
