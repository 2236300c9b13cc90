/* A mailbox with priorities: sorted sends, and receivers that take by pattern at random places. */
#ifndef N
#define N 4
#endif
mtype = { low, high };
chan box = [N] of { byte, mtype, byte };
byte order[N], got;

active [N] proctype Sender() {
	if
	:: box!!_pid,high,_pid
	:: box!!_pid + N,low,_pid
	fi
}

active proctype Receiver() {
	byte p, id, last;
	mtype k;
	do
	:: got < N ->
	   if
	   :: box??_,high,id -> order[got] = id
	   :: box?p,low,id; order[got] = id;
	      assert(p >= N)
	   :: timeout -> assert(false)
	   fi;
	   got++
	:: got == N -> break
	od;
	assert(empty(box) && len(box) == 0)
}
