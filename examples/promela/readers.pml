/* Readers and writers with a monitor made of a lock and counters; a writer that
   waits keeps new readers out. */
#ifndef R
#define R 3
#endif
#ifndef W
#define W 2
#endif

bit lock;
byte readers, writers, waiting;

inline acquire() { atomic { lock == 0 -> lock = 1 } }
inline release() { lock = 0 }

active [R] proctype Reader() {
end:
	do
	:: acquire();
	   if
	   :: writers == 0 && waiting == 0 ->
	      readers++;
	      release();
	      assert(writers == 0);
	      acquire();
	      readers--;
	      release()
	   :: else -> release()
	   fi
	od
}

active [W] proctype Writer() {
	bool waits;
end:
	do
	:: acquire();
	   if
	   :: readers == 0 && writers == 0 ->
	      writers++;
	      if
	      :: waits -> waiting--; waits = false
	      :: else
	      fi;
	      release();
	      assert(readers == 0 && writers == 1);
	      acquire();
	      writers--;
	      release()
	   :: else ->
	      if
	      :: !waits -> waiting++; waits = true
	      :: else
	      fi;
	      release()
	   fi
	od
}
