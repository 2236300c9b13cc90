/* The towers of Hanoi: a claim that the last tower is never complete; its counterexample is a
   solution. */
#ifndef DISCS
#define DISCS 5
#endif
byte peg[DISCS];

init {
	byte d, from, to;
	do
	:: atomic {
	      select (d : 0 .. DISCS - 1);
	      select (to : 0 .. 2);
	      from = 0;
	      do
	      :: from < d && peg[from] != peg[d] && peg[from] != to -> from++
	      :: else -> break
	      od;
	      if
	      :: from == d && peg[d] != to -> peg[d] = to
	      :: else
	      fi;
	      from = 0; d = 0; to = 0
	   }
	od
}

#define all2 (peg[0] == 2 && peg[1] == 2 && peg[2] == 2 && peg[DISCS - 1] == 2)
ltl unsolved { [] !all2 }
