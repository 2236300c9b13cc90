/* sync.Once: a flag for the quick way and a lock for the first call. -D BUG: the flag is set
   before the value is there. */
#ifndef N
#define N 3
#endif
bool done;
bit m;
byte value, calls;

active [N] proctype User() {
	byte v;
	if
	:: done
	:: !done ->
	   atomic { m == 0 -> m = 1 };
	   if
	   :: !done ->
	      calls++;
#ifdef BUG
	      done = true;
	      value = 7;
#else
	      value = 7;
	      done = true;
#endif
	   :: else
	   fi;
	   m = 0
	fi;
	v = value;
	assert(v == 7 && calls == 1)
}
