/* MOESI on an atomic bus: at most one owner, and a modified or exclusive copy is the only one.
   -D BUG: a reader leaves a modified copy as it is. */
#ifndef N
#define N 3
#endif
mtype = { M, O, E, S, I };
mtype st[N] = I;
chan done = [N] of { byte };
byte steps;

inline check() {
	k = 0; n = 0; m = 0; o = 0;
	do
	:: k < N ->
	   if
	   :: st[k] == M || st[k] == E -> m++
	   :: st[k] == O -> o++
	   :: st[k] == S -> n++
	   :: else
	   fi;
	   k++
	:: else -> break
	od;
	assert(m + o <= 1 && (m == 0 || n == 0))
}

active [N] proctype P() {
	byte k, n, m, o, i = _pid;
	bit others;
end:	do
	:: st[i] == I -> d_step {	/* read */
	      others = 0; k = 0;
	      do
	      :: k < N ->
	         if
	         :: st[k] != I -> others = 1;
#ifdef BUG
	            if :: st[k] == E -> st[k] = S :: else fi
#else
	            if :: st[k] == M -> st[k] = O :: st[k] == E -> st[k] = S :: else fi
#endif
	         :: else
	         fi;
	         k++
	      :: else -> break
	      od;
	      if :: others -> st[i] = S :: else -> st[i] = E fi;
	      check()
	   }
	:: st[i] != M -> d_step {	/* write */
	      k = 0;
	      do :: k < N -> st[k] = I; k++ :: else -> break od;
	      st[i] = M;
	      check()
	   }
	:: st[i] != I -> st[i] = I
	od
}
