/* A ring for several producers and one consumer, as in packet processing: a producer takes its slot by
   compare-and-swap, and publishes it when those before it have. Heads and tails are numbers of 4 bits that wrap around. */
#define SIZE 4
#define MASK (SIZE-1)
unsigned prod_head : 4, prod_tail : 4, cons_head : 4, cons_tail : 4;
byte ring[SIZE];
byte got[3];
inline enqueue(val) {
	do
	:: atomic {
		h = prod_head;
		free_entries = (SIZE - 1 + cons_tail - h) & 15;
		}
		if :: free_entries == 0 -> skip
		   :: else ->
			atomic {
				if :: prod_head == h -> prod_head = h + 1; ok = 1 :: else -> ok = 0 fi
			}
			if :: ok -> break :: else fi
		fi
	od;
	ring[h & MASK] = val;
	(prod_tail == h);
	prod_tail = prod_tail + 1
}
proctype producer(byte v) { unsigned h : 4; unsigned free_entries : 4; bool ok; enqueue(v) }
proctype consumer() {
	byte v, n; byte h;
	do
	:: n < 3 ->
		h = cons_head;
		prod_tail != h;
		cons_head++;
		v = ring[h & MASK];
		assert(v != 0);
		ring[h & MASK] = 0;
		got[v-1]++;
		cons_tail++;
		n++
	:: n == 3 -> break
	od;
	assert(got[0] == 1 && got[1] == 1 && got[2] == 1)
}
init { atomic { prod_head = 14; prod_tail = 14; cons_head = 14; cons_tail = 14; run producer(1); run producer(2); run producer(3); run consumer() } }
