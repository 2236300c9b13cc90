/* ricart.pml: mutual exclusion of Ricart and Agrawala (1981); the twin of ricart.model. */
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

chan inbox[N] = [2 * N] of { byte, byte };	/* from; a stamp, 0: the answer to a request */
byte critical;

active [N] proctype Node() {
	byte rounds = ROUNDS, clock, mine, answers, from, stamp, k;
	bool later[N], inside;
end:	do
	:: d_step { inbox[_pid]?from, stamp ->
		if
		:: stamp == 0 -> answers++
		:: else ->
			if :: stamp > clock -> clock = stamp :: else fi;
			if
			:: inside || mine > 0 && (mine < stamp || mine == stamp && _pid < from) ->
				later[from] = true
			:: else -> inbox[from]!_pid, 0
			fi
		fi;
		from = 0; stamp = 0 }
	:: d_step { mine == 0 && rounds > 0 ->
		rounds--;
		clock++;
		mine = clock;
		for (k : 0 .. N - 1) {
			if :: k != _pid -> inbox[k]!_pid, mine :: else fi
		}
		k = 0 }
	:: d_step { answers == N - 1 && !inside ->
		inside = true;
		answers = 0;
		critical++;
		assert(critical == 1) }
	:: d_step { inside ->
		critical--;
		inside = false;
		mine = 0;
		for (k : 0 .. N - 1) {
			if :: later[k] -> inbox[k]!_pid, 0 :: else fi;
			later[k] = false
		}
		k = 0 }
	od
}
