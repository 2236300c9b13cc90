/* A wave in a tree: a process for each node, created by its father, answers with what is
   below it. Each hears a broadcast first. */
#ifndef N
#define N 6
#endif
chan down[N] = [1] of { byte };
chan up[N] = [2] of { byte };

proctype Node(byte i) {
	byte v, n, k, r;
	down[i]?v;
	if :: 2 * i + 1 < N -> down[2 * i + 1]!v + 1; n++ :: else fi;
	if :: 2 * i + 2 < N -> down[2 * i + 2]!v + 1; n++ :: else fi;
	k = n;
	do
	:: n > 0 -> up[i]?r; v = (v > r -> v : r); n--
	:: else -> break
	od;
	if :: i > 0 -> up[(i - 1) / 2]!v :: else -> assert(v == 2) fi
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Node(i) } down[0]!0 } }
