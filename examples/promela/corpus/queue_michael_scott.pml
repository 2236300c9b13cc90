/* The lock-free queue of Michael and Scott with nodes that are never used again. -D BUG: the tail is
   moved before the node is linked. */
#ifndef N
#define N 2
#endif
#define NIL 255
byte next[N + 1] = NIL;
byte val[N + 1];
byte head, tail;
byte got;
bool ok;

proctype Enqueue(byte node) {
	byte t, n;
	val[node] = node;
	do
	:: t = tail;
	   n = next[t];
	   if
	   :: n != NIL -> atomic { if :: tail == t -> tail = n :: else fi }
	   :: n == NIL ->
#ifdef BUG
	      atomic { tail == t -> tail = node };
	      next[t] = node;
	      break
#else
	      if
	      :: atomic { next[t] == NIL -> next[t] = node; break }
	      :: next[t] != NIL
	      fi
#endif
	   fi
	od;
	atomic { if :: tail == t -> tail = node :: else fi }
}

proctype Dequeue() {
	byte h, t, n;
	do
	:: h = head;
	   t = tail;
	   n = next[h];
	   if
	   :: h == t && n == NIL -> skip
	   :: h == t && n != NIL -> atomic { if :: tail == t -> tail = n :: else fi }
	   :: h != t ->
	      assert(n != NIL);
	      if
	      :: atomic { head == h && n != NIL -> head = n; assert(val[n] != 0); got++ }
	      :: head != h || n == NIL
	      fi
	   fi;
	   if
	   :: got == N -> break
	   :: else
	   fi
	od
}

init {
	byte i;
	atomic {
		for (i : 1 .. N) { run Enqueue(i) }
		run Dequeue()
	}
}
