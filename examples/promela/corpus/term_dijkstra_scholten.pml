/* Dijkstra and Scholten: a diffusing computation is over when the root has as many signals as
   it sent messages. -D BUG: a node acknowledges its father at once. */
#ifndef N
#define N 3
#endif
#ifndef M
#define M 3
#endif
mtype = { msg, ack };
chan c[N] = [4] of { mtype, byte };
byte sent, busy;
byte deficit[N];

inline spread(i) {
	do
	:: sent < M -> atomic { sent++; busy++; deficit[i]++; k = (i + 1) % N; c[k]!msg, i }
	:: sent < M && N > 2 -> atomic { sent++; busy++; deficit[i]++; k = (i + 2) % N; c[k]!msg, i }
	:: break
	od
}

proctype Node(byte i) {
	byte father = 255, who, k;
end:	do
	:: c[i]?msg, who ->
	   if
	   :: father == 255 && i > 0 -> father = who
	   :: else -> c[who]!ack, i
	   fi;
	   spread(i);
	   busy--
	:: c[i]?ack, who -> deficit[i]--
#ifdef BUG
	:: atomic { father != 255 -> c[father]!ack, i; father = 255 }
#else
	:: atomic { father != 255 && deficit[i] == 0 && empty(c[i]) -> c[father]!ack, i; father = 255 }
#endif
	od
}

proctype Root() {
	byte who, k;
	spread(0);
	busy--;
end:	do
	:: c[0]?msg, who -> c[who]!ack, 0; busy--
	:: c[0]?ack, who -> deficit[0]--;
	   if :: deficit[0] == 0 -> assert(busy == 0) :: else fi
	od
}

init {
	byte i;
	atomic { busy = 1; run Root(); for (i : 1 .. N - 1) { run Node(i) } }
}
