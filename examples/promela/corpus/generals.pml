/* Byzantine generals with oral messages, one round of exchange: a commander, N-1 lieutenants,
   one of all is a traitor. Three are too few (-D N=3), four are enough. */
#ifndef N
#define N 4
#endif
typedef row { bit heard[N] }
row r[N];
byte traitor, sent;
bit order[N], result[N];

init {
	byte i, j, ones;
	bit v, cmd;
	select (traitor : 0 .. N - 1);
	select (cmd : 0 .. 1);
	for (i : 1 .. N - 1) {
		if
		:: traitor == 0 -> select (v : 0 .. 1)
		:: else -> v = cmd
		fi;
		order[i] = v
	}
	for (i : 1 .. N - 1) {
		for (j : 1 .. N - 1) {
			if
			:: traitor == i -> select (v : 0 .. 1)
			:: else -> v = order[i]
			fi;
			r[j].heard[i] = v
		}
		r[i].heard[i] = order[i]
	}
	atomic {
		for (j : 1 .. N - 1) {
			ones = 0;
			for (i : 1 .. N - 1) {
				ones = ones + r[j].heard[i]
			}
			result[j] = (2 * ones > N - 1)
		}
	}
	atomic {
		for (j : 1 .. N - 1) {
			for (i : 1 .. N - 1) {
				assert(i == traitor || j == traitor || result[i] == result[j])
			}
			assert(traitor == 0 || j == traitor || result[j] == cmd)
		}
	}
}
