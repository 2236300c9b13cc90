/* Raymond's algorithm: a token moves in a tree towards those who ask for it. */
#ifndef N
#define N 4
#endif
mtype = { ask, token };
chan c[N] = [4] of { mtype, byte };
byte critical, served;

proctype Node(byte i) {
	byte holder, who, k;
	bit asked, wants = 1;
	chan q = [N] of { byte };
	holder = (i == 0 -> 0 : (i - 1) / 2);
	q!i;
end:	do
	:: holder == i && nempty(q) ->
	   q?who;
	   if
	   :: who == i ->
	      critical++;
	      assert(critical == 1);
	      critical--;
	      wants = 0;
	      served++
	   :: else -> holder = who; asked = 0; c[who]!token, i
	   fi
	:: holder != i && nempty(q) && !asked -> asked = 1; c[holder]!ask, i
	:: c[i]?ask, who -> q!who
	:: c[i]?token, who -> holder = i
	:: served == N && empty(q) && empty(c[i]) -> break
	od;
	assert(!wants)
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Node(i) } } }
