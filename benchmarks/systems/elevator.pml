/* elevator.pml: a cabin serves N floors, at most 7; the twin of elevator.model. */
#ifndef N
#define N 5
#endif

bool called[7], chosen[7];
byte at;	/* the cabin's floor */
bool up, open;

#define wanted(f) (called[f] || chosen[f])
#define lower(f) (f < at && wanted(f))
#define higher(f) (f > at && wanted(f))
#define below (lower(0) || lower(1) || lower(2) || lower(3) || lower(4) || lower(5) || lower(6))
#define above (higher(0) || higher(1) || higher(2) || higher(3) || higher(4) || higher(5) || higher(6))

active proctype Cabin() {
	do
	:: d_step { !open && wanted(at) ->
		open = true;
		chosen[at] = false }
	:: d_step { !open && !wanted(at) && up && above -> at++ }
	:: d_step { !open && !wanted(at) && !up && below -> at-- }
	:: d_step { !open && !wanted(at) && up && !above && below -> up = false }
	:: d_step { !open && !wanted(at) && !up && !below && above -> up = true }
	:: d_step { open && !called[at] -> open = false }
	od
}

#define choose(to) :: d_step {					\
		to < N && to != _pid - 1 && open && at == _pid - 1 ->	\
		chosen[to] = true;					\
		called[_pid - 1] = false }

active [N] proctype Passenger() {
	do
	:: called[_pid - 1] = true;
	   if	/* gets in */
	   choose(0)
	   choose(1)
	   choose(2)
	   choose(3)
	   choose(4)
	   choose(5)
	   choose(6)
	   fi
	od
}

ltl closes { [] (open -> <> !open) }	/* not without fairness */
ltl comes { [] (called[0] -> <> (open && at == 0)) }	/* not if others call faster */
