/* Double-checked locking where stores may become visible in another order (-D BUG): a
   reader finds the pointer and not yet what it points to. */
#ifndef N
#define N 3
#endif
bool lock, pointer, made;
byte times;

active [N] proctype P() {
	if
	:: !pointer ->
	   atomic { !lock -> lock = true };
	   if
	   :: !pointer ->
	      times++;
#ifdef BUG
	      if
	      :: made = true; pointer = true
	      :: pointer = true; made = true
	      fi
#else
	      made = true;
	      pointer = true
#endif
	   :: else
	   fi;
	   lock = false
	:: else
	fi;
	assert(made);
	assert(times == 1)
}
