/* A ring buffer for several producers and one consumer, as network drivers have it. A producer
   takes a place with compare-and-swap, writes it, and waits until those before it have done
   the same. The indices are unsigned and run over.
   -D BUG moves the tail without waiting for those before. */
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#define SIZE 4
#define MASK (SIZE - 1)
#define CAS(v, old, new, done) d_step { if :: v == old -> v = new; done = true :: else -> done = false fi }
typedef Ends { unsigned head : 3; unsigned tail : 3 };
Ends prod, cons;
byte ring[SIZE], taken[PRODUCERS + 1];

proctype Producer(byte value) {
	unsigned head : 3, next : 3;
	bool done;
retry:
	head = prod.head;
	if
	:: ((cons.tail + SIZE - head) & 7) == 0 -> goto full_
	:: else
	fi;
	next = head + 1;
	CAS(prod.head, head, next, done);
	if
	:: !done -> goto retry
	:: else
	fi;
	ring[head & MASK] = value;
#ifndef BUG
	prod.tail == head;
#endif
	prod.tail = next;
full_:	skip
}

active proctype Consumer() {
	unsigned head : 3;
	byte value;
end:	do
	:: prod.tail != cons.head ->
		head = cons.head;
		cons.head = head + 1;
		value = ring[head & MASK];
		assert(value != 0);
		ring[head & MASK] = 0;
		taken[value]++;
		assert(taken[value] == 1);
		cons.tail = cons.head
	od
}

init {
	byte i;
	atomic {
		for (i : 1 .. PRODUCERS) {
			run Producer(i)
		}
	}
}

ltl all { <> (taken[1] == 1 && taken[2] == 1) }
