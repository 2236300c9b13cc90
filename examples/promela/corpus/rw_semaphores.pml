/* Readers and writers with two semaphores (the first readers-writers problem). -D BUG
   counts readers without the mutex. */
#ifndef R
#define R 3
#endif
#ifndef W
#define W 2
#endif
byte mutex = 1, wrt = 1, readers, reading, writing;
#define P(s) atomic { s > 0 -> s-- }
#define V(s) s++
#ifdef BUG
#define LOCK skip
#define UNLOCK skip
#else
#define LOCK P(mutex)
#define UNLOCK V(mutex)
#endif

active [R] proctype Reader() {
	do
	:: LOCK;
	   readers++;
	   if
	   :: readers == 1 -> P(wrt)
	   :: else
	   fi;
	   UNLOCK;
	   reading++;
	   assert(writing == 0);
	   reading--;
	   LOCK;
	   readers--;
	   if
	   :: readers == 0 -> V(wrt)
	   :: else
	   fi;
	   UNLOCK
	od
}

active [W] proctype Writer() {
	do
	:: P(wrt);
	   writing++;
	   assert(writing == 1 && reading == 0);
	   writing--;
	   V(wrt)
	od
}
