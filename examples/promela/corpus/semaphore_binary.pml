/* A counting semaphore made of two binary ones (Barz). -D BUG is the older construction, whose second
   semaphore is opened twice and forgets one of them (four processes show it). */
#ifndef N
#define N 3
#endif
#ifndef K
#define K 2
#endif
bit gate = 1, mutex = 1;
short count = K;
byte inside;
#define WAIT(s) atomic { s == 1 -> s = 0 }
#define SIGNAL(s) s = 1

#ifdef BUG
bit delay;
#endif

active [N] proctype P() {
	do
	::
#ifdef BUG
	   WAIT(mutex);
	   count--;
	   if
	   :: count < 0 -> SIGNAL(mutex); WAIT(delay)
	   :: else -> SIGNAL(mutex)
	   fi;
#else
	   WAIT(gate);
	   WAIT(mutex);
	   count--;
	   if
	   :: count > 0 -> SIGNAL(gate)
	   :: else
	   fi;
	   SIGNAL(mutex);
#endif
	   inside++;
	   assert(inside <= K);
	   inside--;
	   WAIT(mutex);
	   count++;
#ifdef BUG
	   if
	   :: count <= 0 -> assert(delay == 0); SIGNAL(delay)
	   :: else
	   fi;
#else
	   if
	   :: count == 1 -> SIGNAL(gate)
	   :: else
	   fi;
#endif
	   SIGNAL(mutex)
	od
}
