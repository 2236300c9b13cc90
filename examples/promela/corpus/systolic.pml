/* A systolic array multiplies two matrices of 2 by 2: values flow right and down, a cell adds
   up the products. */
chan h[6] = [1] of { byte };	/* h[r * 3 + c] goes into cell r, c */
chan v[6] = [1] of { byte };	/* v[r * 2 + c] goes into cell r, c */
byte sum[4];

proctype Cell(byte r, c) {
	byte k, x, y;
	for (k : 0 .. 1) {
		h[r * 3 + c]?x;
		v[r * 2 + c]?y;
		sum[r * 2 + c] = sum[r * 2 + c] + x * y;
		h[r * 3 + c + 1]!x;
		v[(r + 1) * 2 + c]!y
	}
}

proctype Row(byte r) { h[r * 3]!r + 1; h[r * 3]!r + 2 }
proctype Column(byte c) { v[c]!c + 1; v[c]!c + 3 }
proctype Right(byte r) { h[r * 3 + 2]?_; h[r * 3 + 2]?_ }
proctype Bottom(byte c) { v[4 + c]?_; v[4 + c]?_ }

init {
	byte i;
	atomic {
		for (i : 0 .. 1) {
			run Row(i); run Column(i); run Right(i); run Bottom(i);
			run Cell(i, 0); run Cell(i, 1)
		}
	}
	_nr_pr == 1;
	assert(sum[0] == 1 * 1 + 2 * 3 && sum[3] == 2 * 2 + 3 * 4)
}
