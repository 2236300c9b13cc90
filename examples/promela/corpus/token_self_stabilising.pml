/* Dijkstra's self-stabilising ring with K states: from any start, at most one privilege is left in
   the end. Too few states (-D K=2) do not stabilise. */
#ifndef N
#define N 4
#endif
#ifndef K
#define K 4
#endif
byte s[N];
bool go;
#define PRIV(i) ((i == 0 && s[0] == s[N - 1]) || (i != 0 && s[i] != s[(i + N - 1) % N]))

init {
	byte i, v;
	for (i : 0 .. N - 1) {
		select (v : 0 .. K - 1);
		s[i] = v
	}
	atomic {
		for (i : 0 .. N - 1) { run node(i) }
		go = true
	}
}

proctype node(byte me) {
end:	do
	:: atomic { go && me == 0 && s[0] == s[N - 1] -> s[0] = (s[0] + 1) % K }
	:: atomic { go && me != 0 && s[me] != s[me - (me > 0)] -> s[me] = s[me - (me > 0)] }
	od
}

ltl one { <> [] (PRIV(0) + PRIV(1) + PRIV(2) + PRIV(3) == 1) }
