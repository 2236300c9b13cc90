/* A scheduler's threads that sleep when there is no work, and a producer that wakes one:
   the condition is looked at, and the thread counted as a sleeper, under the lock.
   -D BUG looks at the sleepers without the lock, so that a wake-up is lost. */
#ifndef ITEMS
#define ITEMS 3
#endif
#define LOCK() atomic { !locked; locked = true }
#define UNLOCK() locked = false
bool locked, wake;
byte work, sleeping, done;

inline sleep_unless(condition) {
	do
	:: condition -> break
	:: else ->
		sleeping++;
		UNLOCK();
endsleep:
		atomic { wake; wake = false };
		LOCK()
	od
}

active [2] proctype Machine() {
end:	do
	::	LOCK();
		sleep_unless(work > 0);
		work--;
		done++;
		UNLOCK()
	od
}

active proctype Producer() {
	byte i;
	for (i : 1 .. ITEMS) {
#ifdef BUG
		if
		:: sleeping > 0 -> sleeping--; wake = true
		:: else
		fi;
		LOCK();
		work++;
#else
		LOCK();
		work++;
		if
		:: sleeping > 0 && !wake -> sleeping--; wake = true
		:: else
		fi;
#endif
		UNLOCK()
	}
	done == ITEMS
}

ltl finished { <> (done == ITEMS) }
