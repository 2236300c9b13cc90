/* barber.pml: Dijkstra's sleeping barbers; the twin of barber.model. */
#ifndef N
#define N 5
#endif
#ifndef BARBERS
#define BARBERS 2
#endif
#ifndef CHAIRS
#define CHAIRS 3
#endif
#define down(s) atomic { s > 0 -> s-- }
#define up(s) s++

byte waiting, customers, ready, done;

active [BARBERS] proctype Barber() {
	do
	:: down(customers);
	   waiting--;
	   up(ready);
	   up(done)
	od
}

active [N] proctype Customer() {
	do
	:: d_step { waiting < CHAIRS -> waiting++ };
	   up(customers);
	   down(ready);
	   down(done)
	:: waiting == CHAIRS
	od
}
