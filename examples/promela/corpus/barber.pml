/* The sleeping barber: CHAIRS to wait on, customers who leave if none is free. -D BUG: looks at the
   chairs and sits down in two steps. */
#ifndef CHAIRS
#define CHAIRS 2
#endif
#ifndef N
#define N 4
#endif
byte waiting;
chan door = [CHAIRS] of { byte };
bool cut[N];
byte turned;

active [N] proctype Customer() {
	do
	::
#ifdef BUG
	   if
	   :: nfull(door) -> waiting++; assert(waiting <= CHAIRS); door!_pid
	   :: full(door) -> goto away
	   fi;
#else
	   if
	   :: atomic { waiting < CHAIRS -> waiting++; assert(waiting <= CHAIRS); door!_pid }
	   :: waiting >= CHAIRS -> goto away
	   fi;
#endif
	   cut[_pid];
	   cut[_pid] = false;
away:	   skip
	od
}

active proctype Barber() {
	byte who;
	do
	:: atomic { door?who -> waiting-- };
	   assert(!cut[who]);
	   cut[who] = true;
	   !cut[who]
	od
}
