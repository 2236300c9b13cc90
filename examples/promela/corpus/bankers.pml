/* Dijkstra's banker: three customers with a maximum each, one kind of money. -D BUG gives
   to whoever asks: deadlock. */
#ifndef CASH
#define CASH 6
#endif
byte has[3], max[3] = { 4, 3, 5 };
byte bank = CASH;

inline safe(who, r) {
	/* would all be able to end, one after the other, after one more for who? */
	rest = bank - 1;
	r = true;
	fin = 0;
	i = 0;
	k = 0;
	do
	:: k < 9 && !((fin >> i) & 1) && max[i] - has[i] - (i == who) <= rest ->
	   rest = rest + has[i] + (i == who); fin = fin | (1 << i); k = 0; i = (i + 1) % 3
	:: k < 9 && ((fin >> i) & 1 || max[i] - has[i] - (i == who) > rest) -> i = (i + 1) % 3; k++
	:: k == 9 -> break
	od;
	r = (fin == 7);
	rest = 0; fin = 0; i = 0; k = 0
}

active [3] proctype Customer() {
	byte i, k, fin;
	short rest;
	bool r;
	do
	:: has[_pid] < max[_pid] ->
#ifdef BUG
	   atomic { bank > 0 -> bank--; has[_pid]++ }
#else
	   atomic { bank > 0 -> safe(_pid, r);
	      if
	      :: r -> bank--; has[_pid]++
	      :: else
	      fi;
	      r = false }
#endif
	:: has[_pid] == max[_pid] -> d_step { bank = bank + has[_pid]; has[_pid] = 0 }
	od
}
