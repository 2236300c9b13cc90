/* mesi.pml: N caches, at most 8, snoop a bus; the twin of mesi.model. */
#ifndef N
#define N 6
#endif
#define I	0
#define S	1
#define E	2
#define M	3
#define NONE	0
#define READ	1
#define OWN	2

byte line[8];
byte wants[N];
byte bus;	/* who has it, from 1; 0: nobody */
bool snooped[8];
bool shared;

#define answered(k) (k >= N || k == _pid || snooped[k])
#define alone(k) (k == _pid || line[k] == I)

active [N] proctype Cache() {
	byte k;
	do
	:: d_step { wants[_pid] == NONE && line[_pid] == I -> wants[_pid] = READ }	/* a read miss */
	:: d_step { wants[_pid] == NONE && line[_pid] < E -> wants[_pid] = OWN }	/* a write miss */
	:: d_step { wants[_pid] == NONE && line[_pid] == E -> line[_pid] = M }	/* a silent write */
	:: d_step { wants[_pid] == NONE && line[_pid] != I && bus == 0 -> line[_pid] = I }	/* evict */
	:: d_step { wants[_pid] != NONE && bus == 0 -> bus = _pid + 1 }
	:: d_step { bus != 0 && bus != _pid + 1 && !snooped[_pid] ->
		snooped[_pid] = true;
		if :: line[_pid] != I -> shared = true :: else fi;
		if
		:: wants[bus - 1] == OWN -> line[_pid] = I
		:: wants[bus - 1] != OWN && line[_pid] != I -> line[_pid] = S
		:: else
		fi }
	:: d_step { bus == _pid + 1 && answered(0) && answered(1) && answered(2) && answered(3) &&
			answered(4) && answered(5) && answered(6) && answered(7) ->
		if
		:: wants[_pid] == OWN -> line[_pid] = M
		:: wants[_pid] != OWN && shared -> line[_pid] = S
		:: else -> line[_pid] = E
		fi;
		assert(line[_pid] < E || alone(0) && alone(1) && alone(2) && alone(3) && alone(4) &&
		       alone(5) && alone(6) && alone(7));
		for (k : 0 .. N - 1) { snooped[k] = false }
		k = 0;
		shared = false;
		wants[_pid] = NONE;
		bus = 0 }
	od
}

ltl coherent { [] !((line[0] == M) && (line[1] != I)) }
ltl served { [] ((wants[0] == OWN) -> <> (line[0] == M)) }	/* not without fairness */
