/* First fit (Knuth, 1968) in a heap of CELLS words, with clients that take and give back
 * blocks of sizes 1 to 3. */
#ifndef CELLS
#define CELLS 64
#endif
#define TOP 13 /* what is above is never used */
#ifndef N
#define N 2
#endif

byte heap[CELLS]; /* 0 is free, else the client who has it */

inline take(n) {
	i = 0;
	run_ = 0;
	do
	:: i < TOP && run_ < n ->
		if
		:: heap[i] == 0 -> run_++
		:: else -> run_ = 0
		fi;
		i++
	:: else -> break
	od;
	if
	:: run_ == n ->
		first = i - n;
		size = n;
		i = first;
		do
		:: i < first + size -> heap[i] = _pid + 1; i++
		:: else -> break
		od
	:: else
	fi;
	i = 0;
	run_ = 0
}

active [N] proctype Client() {
	byte i, run_, first, size;
	do
	:: d_step { size == 0 -> take(1) }
	:: d_step { size == 0 -> take(2) }
	:: d_step { size == 0 -> take(3) }
	:: d_step { size > 0 ->
		i = first;
		do
		:: i < first + size -> heap[i] = 0; i++
		:: else -> break
		od;
		i = 0;
		first = 0;
		size = 0
	   }
	od
}
