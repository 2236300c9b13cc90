/* A buffer of one place with a mutex and one condition variable for producers and consumers. A
   notification of one waiter (-D BUG) can go to one of the wrong kind: deadlock. */
#ifndef N
#define N 2
#endif
bool held;
byte count;
bool waits[2 * N], woken[2 * N];
inline lock() { atomic { !held -> held = true } }
inline unlock() { held = false }
inline wait() {
	d_step { held = false; waits[_pid] = true }
	d_step { woken[_pid] -> woken[_pid] = false }
	lock()
}
inline notify() {
#ifdef BUG
	if
	:: waits[0] -> d_step { waits[0] = false; woken[0] = true }
	:: waits[1] -> d_step { waits[1] = false; woken[1] = true }
	:: waits[2] -> d_step { waits[2] = false; woken[2] = true }
	:: waits[3] -> d_step { waits[3] = false; woken[3] = true }
	:: else
	fi
#else
	d_step {
		for (k : 0 .. 2 * N - 1) {
			if
			:: waits[k] -> waits[k] = false; woken[k] = true
			:: else
			fi
		}
		k = 0
	}
#endif
}

active [N] proctype Producer() {
	byte k;
	do
	:: lock();
	   do
	   :: count == 1 -> wait()
	   :: else -> break
	   od;
	   count++;
	   notify();
	   unlock()
	od
}

active [N] proctype Consumer() {
	byte k;
	do
	:: lock();
	   do
	   :: count == 0 -> wait()
	   :: else -> break
	   od;
	   assert(count == 1);
	   count--;
	   notify();
	   unlock()
	od
}
