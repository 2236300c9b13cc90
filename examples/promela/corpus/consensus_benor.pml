/* Ben-Or's consensus without faults, for one round and a coin: who decides, decides as others. */
#ifndef N
#define N 3
#endif
chan a[N] = [N] of { byte };
chan b[N] = [N] of { byte };
byte decision[2];

proctype P(byte i) {
	byte v, w, k, n[3];
	v = i / 2;
	atomic { for (k : 0 .. N - 1) { a[k]!v } }
	for (k : 1 .. 2) { a[i]?w; n[w]++ }
	if :: n[0] == 2 -> v = 0 :: n[1] == 2 -> v = 1 :: else -> v = 2 fi;
	d_step { n[0] = 0; n[1] = 0 };
	atomic { for (k : 0 .. N - 1) { b[k]!v } }
	for (k : 1 .. 2) { b[i]?w; n[w]++ }
	if
	:: n[0] == 2 -> decision[0]++
	:: n[1] == 2 -> decision[1]++
	:: else
	fi;
	assert(decision[0] == 0 || decision[1] == 0)
}

init { byte i; atomic { for (i : 0 .. N - 1) { run P(i) } } }
