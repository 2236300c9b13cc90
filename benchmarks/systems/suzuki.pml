/* suzuki.pml: mutual exclusion of Suzuki and Kasami (1985); the twin of suzuki.model. */
#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif

chan inbox[N] = [3 * N] of { byte, byte };	/* from; the number of a request, 0: the token */
chan queue = [N] of { byte };	/* a part of the token: who waits */
byte served[N];	/* another: the number of the last request of each that was served */
byte critical;

active [N] proctype Node() {
	byte rounds = ROUNDS, asked[N], from, number, k;
	bool token = (_pid == 0), wants, inside;
end:	do
	:: d_step { inbox[_pid]?from, number ->
		if
		:: number == 0 -> token = true
		:: else ->
			if :: number > asked[from] -> asked[from] = number :: else fi;
			if
			:: token && !wants && asked[from] == served[from] + 1 ->
				token = false;
				inbox[from]!_pid, 0
			:: else
			fi
		fi;
		from = 0; number = 0 }
	:: d_step { !wants && rounds > 0 ->
		rounds--;
		wants = true;
		if
		:: !token ->
			asked[_pid]++;
			for (k : 0 .. N - 1) {
				if :: k != _pid -> inbox[k]!_pid, asked[_pid] :: else fi
			}
			k = 0
		:: else
		fi }
	:: d_step { wants && token && !inside ->
		inside = true;
		critical++;
		assert(critical == 1) }
	:: d_step { inside ->
		critical--;
		inside = false;
		wants = false;
		served[_pid] = asked[_pid];
		for (k : 0 .. N - 1) {
			if
			:: asked[k] == served[k] + 1 && !queue??[eval(k)] -> queue!k
			:: else
			fi
		}
		k = 0;
		if
		:: nempty(queue) ->
			queue?k;
			token = false;
			inbox[k]!_pid, 0;
			k = 0
		:: else
		fi }
	od
}
