/* Each worker has a queue of its own, and takes from its neighbour when that is empty. */
#ifndef W
#define W 2
#endif
#ifndef J
#define J 3
#endif
chan q[W] = [J] of { byte };
byte done;

active [W] proctype Worker() {
	byte j;
	do
	:: q[_pid]?j -> done++
	:: empty(q[_pid]) && q[(_pid + 1) % W]?[j] ->
	   if
	   :: q[(_pid + 1) % W]?j -> done++
	   :: empty(q[(_pid + 1) % W])
	   fi
	:: done == W * J -> break
	od
}

init {
	byte i, k;
	for (i : 0 .. W - 1) { for (k : 1 .. J) { q[i]!k } }
}
