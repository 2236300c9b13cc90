/* An asynchronous cellular automaton (Ingerson and Buvel, 1984): rule 110 on a ring of N cells beside a
 * table of the rule and 200 words that never change. */
#ifndef N
#define N 10
#endif

bool cell[N];
bool rule[8];
byte ballast[200] = 7;

active proctype Clock() {
	byte i, at;
	d_step {
		rule[1] = true; rule[2] = true; rule[3] = true; rule[5] = true; rule[6] = true;
		cell[N - 1] = true
	};
end:	do
	:: d_step {
		at = 4 * cell[(i + N - 1) % N] + 2 * cell[i] + cell[(i + 1) % N];
		cell[i] = rule[at] && ballast[at] == 7;
		at = 0;
		i = (i + 1) % N
	   }
	:: d_step { i = (i + 1) % N }
	od
}
