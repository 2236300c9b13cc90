/* Priorities as in SPIN 6: a high process waits for a low one that holds a lock, while one in the
   middle runs forever. Nothing is blocked, and nothing goes on (see the claim). */
bool lock;
byte done;

active proctype low() priority 1 {
	do
	:: atomic { !lock -> lock = true };
	   lock = false
	od
}

active proctype middle() priority 5 {
	do
	:: done < 3 -> done++
	:: else -> break
	od
}

init {
	run high() priority 9
}

proctype high() {
	do
	:: atomic { !lock -> lock = true };
	   done = 0;
	   lock = false;
	   break
	od;
	assert(get_priority(_pid) == 9);
	set_priority(_pid, 2)
}
