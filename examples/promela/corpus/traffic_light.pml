/* Traffic lights at a crossing of two roads, a button for pedestrians, and a claim that
   never more than one is green. -D BUG: the pedestrians' light does not wait for amber. */
mtype = { red, amber, green };
mtype light[2] = red;
bool walk, button;
chan turn = [1] of { bit };

proctype Light(bit me) {
	do
	:: turn?eval(me) ->
	   if
	   :: button ->
	      walk = true;
#ifndef BUG
	      walk = false;
#endif
	      button = false
	   :: !button
	   fi;
	   light[me] = green;
	   light[me] = amber;
	   light[me] = red;
#ifdef BUG
	   walk = false;
#endif
	   turn!(1 - me)
	od
}

proctype Pedestrian() {
	do
	:: !button && !walk -> button = true
	od
}

init {
	atomic {
		turn!0;
		run Light(0);
		run Light(1);
		run Pedestrian()
	}
}

ltl crossing { [] (!(light[0] != red && light[1] != red) && !(walk && (light[0] == green || light[1] == green))) }
ltl again { [] (light[0] == green -> <> (light[1] == green)) }
