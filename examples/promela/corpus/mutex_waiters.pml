/* A mutex of one word, locked and woken bits with the number of those who wait above them, and a semaphore:
   the form that Go's sync.Mutex has when nobody starves. */
#define LOCKED 1
#define WOKEN 2
#define SHIFT 2
#define G 2
short state;
byte sema;
byte in;
inline cas(old, new, ok) { d_step { if :: state == (old) -> state = (new); ok = true :: else -> ok = false fi } }
proctype goroutine() {
	short old, new; bool ok, awoke = false; byte n = 0;
lock:
	cas(0, LOCKED, ok);
	if :: ok -> goto critical :: else fi;
	old = state;
retry:
	new = old | LOCKED;
	if
	:: (old & LOCKED) != 0 -> new = new + (1 << SHIFT)
	:: else
	fi;
	if :: awoke -> new = new & (~WOKEN) :: else fi;
	cas(old, new, ok);
	if
	:: ok ->
		if :: (old & LOCKED) == 0 -> goto critical :: else fi;
		atomic { sema > 0 -> sema-- };
		awoke = true;
	:: else
	fi;
	old = state;
	goto retry;
critical:
	in++; assert(in == 1); in--;
	d_step { state = state - LOCKED; new = state };
	if :: new == 0 -> goto out :: else fi;
	old = new;
	do
	:: (old >> SHIFT) == 0 || (old & (LOCKED|WOKEN)) != 0 -> break
	:: else ->
		new = (old - (1 << SHIFT)) | WOKEN;
		cas(old, new, ok);
		if :: ok -> sema++; break :: else fi;
		old = state
	od;
out:
	awoke = false;
	n++;
	if :: n < 2 -> goto lock :: else fi
}
init { atomic { byte g = 0; do :: g < G -> run goroutine(); g++ :: else -> break od } }
