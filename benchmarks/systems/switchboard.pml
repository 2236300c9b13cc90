/* switchboard.pml: an operator connects idle lines and disconnects them; the twin of
 * switchboard.model. */
#ifndef N
#define N 12
#endif

byte peer[N];	/* of a line: the number of the other one, from 1; 0: idle */

#define pair(i, j)						\
	:: d_step { j < N && peer[i] == 0 && peer[j] == 0 ->	\
		peer[i] = j + 1; peer[j] = i + 1 }		\
	:: d_step { j < N && peer[i] == j + 1 ->		\
		peer[i] = 0; peer[j] = 0 }

active proctype Operator() {
	do
	pair(0, 1)
	pair(0, 2) pair(1, 2)
	pair(0, 3) pair(1, 3) pair(2, 3)
	pair(0, 4) pair(1, 4) pair(2, 4) pair(3, 4)
	pair(0, 5) pair(1, 5) pair(2, 5) pair(3, 5) pair(4, 5)
	pair(0, 6) pair(1, 6) pair(2, 6) pair(3, 6) pair(4, 6) pair(5, 6)
	pair(0, 7) pair(1, 7) pair(2, 7) pair(3, 7) pair(4, 7) pair(5, 7) pair(6, 7)
	pair(0, 8) pair(1, 8) pair(2, 8) pair(3, 8) pair(4, 8) pair(5, 8) pair(6, 8) pair(7, 8)
	pair(0, 9) pair(1, 9) pair(2, 9) pair(3, 9) pair(4, 9) pair(5, 9) pair(6, 9) pair(7, 9) pair(8, 9)
	pair(0, 10) pair(1, 10) pair(2, 10) pair(3, 10) pair(4, 10) pair(5, 10) pair(6, 10) pair(7, 10) pair(8, 10) pair(9, 10)
	pair(0, 11) pair(1, 11) pair(2, 11) pair(3, 11) pair(4, 11) pair(5, 11) pair(6, 11) pair(7, 11) pair(8, 11) pair(9, 11) pair(10, 11)
	od
}
