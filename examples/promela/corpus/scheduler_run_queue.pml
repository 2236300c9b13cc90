/* A scheduler with two processors, a run queue and tasks that sleep and are woken. The
   classic fault (-D BUG): the test "nothing to do" and going to sleep are not one step, and a
   wake-up between them is lost. */
#ifndef TASKS
#define TASKS 2
#endif
mtype = { ready, running, sleeping };
mtype task[TASKS] = ready;
bool event[TASKS];
chan rq = [TASKS] of { byte };

inline wake(t) {
	atomic {
		event[t] = true;
		if
		:: task[t] == sleeping -> task[t] = ready; rq!t
		:: else
		fi
	}
}

proctype Cpu() {
	byte t;
end:	do
	:: rq?t ->
	   assert(task[t] == ready);
	   task[t] = running;
	   if
	   :: task[t] = ready; rq!t                 /* preempted */
#ifdef BUG
	   :: !event[t] -> task[t] = sleeping
	   :: event[t] -> event[t] = false; task[t] = ready; rq!t
#else
	   :: atomic {
	      if
	      :: !event[t] -> task[t] = sleeping
	      :: else -> event[t] = false; task[t] = ready; rq!t
	      fi }
#endif
	   fi;
	   t = 0
	od
}

proctype Device(byte t) {
	do
	:: atomic { !event[t] -> skip };
	   wake(t)
	od
}

init {
	byte i;
	bool lost;
	atomic {
		for (i : 0 .. TASKS - 1) {
			rq!i;
			run Device(i)
		}
		run Cpu();
		run Cpu()
	}
	do
	:: d_step {
	      i = 0;
	      do
	      :: i < TASKS -> lost = lost || (task[i] == sleeping && event[i]); i++
	      :: else -> break
	      od;
	      assert(!lost);
	      i = 0;
	      lost = false }
	od
}
