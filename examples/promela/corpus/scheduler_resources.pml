/* One processor, tasks with priorities, two resources with priority inheritance left out: a
 * controller in one process whose options are all that can happen. */
#ifndef TASKS
#define TASKS 6
#endif
#define IDLE 0
#define READY 1
#define RUNNING 2
#define WAITS 3 /* for resource r: 3 + r */
#define RESOURCES 2
#define NONE TASKS

byte state[TASKS];
byte owner[RESOURCES] = NONE;
byte ran = NONE; /* the task that runs */

#define ARRIVE(t) :: d_step { state[t] == IDLE -> state[t] = READY }
#define DISPATCH(t) :: d_step { ran == NONE && state[t] == READY -> state[t] = RUNNING; ran = t }
#define PREEMPT(t) :: d_step { ran != NONE && ran < t && state[t] == READY -> \
	state[ran] = READY; state[t] = RUNNING; ran = t }
#define END(t) :: d_step { ran == t && owner[0] != t && owner[1] != t -> state[t] = IDLE; ran = NONE }
#define TAKE(t, r) :: d_step { ran == t && owner[r] == NONE -> owner[r] = t } \
	:: d_step { ran == t && owner[r] != NONE && owner[r] != t -> state[t] = WAITS + r; ran = NONE } \
	:: d_step { ran == t && owner[r] == t -> owner[r] = NONE; wake(r) }
#define TASK(t) ARRIVE(t) DISPATCH(t) PREEMPT(t) END(t) TAKE(t, 0) TAKE(t, 1)

inline wake(r) {
	do
	:: i < TASKS && state[i] == WAITS + r -> state[i] = READY; i++
	:: i < TASKS && state[i] != WAITS + r -> i++
	:: else -> break
	od;
	i = 0
}

active proctype Controller() {
	byte i;
end:	do
	TASK(0) TASK(1) TASK(2) TASK(3) TASK(4) TASK(5)
	od
}
