/* Peg solitaire on a board of 4 x 5. A peg jumps over another into a hole and removes it. */
bool peg[20] = true;
short pegs = 19;

#define ONE(a, b, c) :: d_step { peg[a] && peg[b] && !peg[c] -> peg[a] = false; peg[b] = false; peg[c] = true; pegs-- }
#define JUMP(a, b, c) ONE(a, b, c) ONE(c, b, a)
#define ROW(r) JUMP(r, r + 1, r + 2) JUMP(r + 1, r + 2, r + 3) JUMP(r + 2, r + 3, r + 4)
#define COLUMN(c) JUMP(c, c + 5, c + 10) JUMP(c + 5, c + 10, c + 15)

init {
	d_step { peg[0] = false };
end:	do
	ROW(0) ROW(5) ROW(10) ROW(15)
	COLUMN(0) COLUMN(1) COLUMN(2) COLUMN(3) COLUMN(4)
	od
}
