/* Itai and Rodeh: nodes without numbers of their own draw some, round by round, until one is
   the only largest. At most R rounds are looked at. */
#ifndef N
#define N 2
#endif
#ifndef R
#define R 2
#endif
chan q[N] = [N] of { byte, byte, byte, bit };	/* round, number, hops, the only one */
byte leaders;

proctype Node(byte i) {
	byte round = 1, me, r, v, h;
	bit alone;
	chan out = q[(i + 1) % N];
	select (me : 1 .. 2);
	out!round, me, 1, 1;
end:	do
	:: q[i]?r, v, h, alone ->
	   if
	   :: h == N && r == round && v == me ->
	      if
	      :: alone -> leaders++; assert(leaders == 1); break
	      :: !alone && round < R ->
	         round++;
	         select (me : 1 .. 2);
	         out!round, me, 1, 1
	      :: !alone && round == R -> break
	      fi
	   :: h < N && r == round && v == me -> out!r, v, h + 1, 0
	   :: h < N && (r > round || r == round && v > me) -> out!r, v, h + 1, alone; break
	   :: else
	   fi
	od;
end2:	do
	:: q[i]?r, v, h, alone -> if :: h < N -> out!r, v, h + 1, alone :: else fi
	od
}

init { byte i; atomic { for (i : 0 .. N - 1) { run Node(i) } } }
