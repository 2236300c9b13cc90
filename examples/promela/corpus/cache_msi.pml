/* The MSI protocol on an atomic bus: N caches with one line each. -D BUG: a writer that has the
   line shared does not invalidate the others. */
#ifndef N
#define N 3
#endif
mtype = { modified, shared, invalid };
mtype line[N] = invalid;
byte value[N], memory, latest;

inline flush(me) {
	k = 0;
	do
	:: k < N ->
	   if
	   :: k != me && line[k] == modified -> memory = value[k]; line[k] = shared
	   :: else
	   fi;
	   k++
	:: else -> k = 0; break
	od
}

inline invalidate(me) {
	k = 0;
	do
	:: k < N ->
	   if
	   :: k != me -> line[k] = invalid; value[k] = 0
	   :: else
	   fi;
	   k++
	:: else -> k = 0; break
	od
}

active [N] proctype Cache() {
	byte k;
	do
	:: d_step { line[_pid] == invalid -> flush(_pid); value[_pid] = memory; line[_pid] = shared }
	:: atomic { line[_pid] != invalid -> assert(value[_pid] == latest) }
	:: d_step { line[_pid] == modified ->
	      latest = (latest + 1) % 3; value[_pid] = latest }
#ifdef BUG
	:: line[_pid] == shared -> line[_pid] = modified
#else
	:: d_step { line[_pid] == shared -> invalidate(_pid); line[_pid] = modified }
#endif
	:: d_step { line[_pid] == invalid -> flush(_pid); value[_pid] = memory; invalidate(_pid); line[_pid] = modified }
	:: d_step { line[_pid] != invalid ->
	      if
	      :: line[_pid] == modified -> memory = value[_pid]
	      :: else
	      fi;
	      line[_pid] = invalid; value[_pid] = 0 }
	od
}
