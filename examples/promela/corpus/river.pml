/* Wolf, goat and cabbage. The claim that they never get across is wrong: its counterexample is the
   solution. -D NOBOAT is a boat that takes no passenger. */
mtype = { here, there };
mtype man = here, wolf = here, goat = here, cabbage = here;
#define other(x) (x == here -> there : here)
#define eaten ((wolf == goat && man != goat) || (goat == cabbage && man != goat))
#define across (man == there && wolf == there && goat == there && cabbage == there)

active proctype Boat() {
end:	do
	:: atomic { !eaten -> man = other(man) }
#ifndef NOBOAT
	:: atomic { !eaten && wolf == man -> man = other(man); wolf = man }
	:: atomic { !eaten && goat == man -> man = other(man); goat = man }
	:: atomic { !eaten && cabbage == man -> man = other(man); cabbage = man }
#endif
	od
}

active proctype Bank() {
end:	across;
	assert(false)
}

ltl stuck { !(!eaten U across) }
