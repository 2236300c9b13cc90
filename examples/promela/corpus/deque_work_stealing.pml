/* A deque for work stealing: the owner takes at the bottom, thieves at the top with
   compare and swap. -D BUG: the owner does not compete for the last one. */
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
short top, bottom;
byte taken[ITEMS];

active proctype Owner() {
	short b, t;
	byte pushed;
	do
	:: pushed < ITEMS -> bottom++; pushed++
	:: pushed > 0 ->
	   bottom--;
	   b = bottom;
	   t = top;
	   if
	   :: t > b -> bottom = t; if :: pushed == ITEMS -> break :: else fi
	   :: t < b -> taken[b]++; assert(taken[b] == 1)
	   :: t == b ->
#ifdef BUG
	      taken[b]++;
	      assert(taken[b] == 1);
	      top = t + 1;
#else
	      d_step {
	         if
	         :: top == t -> top++; taken[b]++; assert(taken[b] == 1)
	         :: else
	         fi
	      };
#endif
	      bottom = t + 1
	   fi;
	   b = 0; t = 0;
	   if
	   :: bottom == top && pushed == ITEMS -> break
	   :: bottom < ITEMS && pushed > bottom -> pushed = ITEMS
	   :: else
	   fi
	od
}

active [THIEVES] proctype Thief() {
	short b, t;
end:	do
	:: t = top;
	   b = bottom;
	   if
	   :: t < b && t < ITEMS ->
	      d_step {
	         if
	         :: top == t -> top++; taken[t]++; assert(taken[t] == 1)
	         :: else
	         fi
	      }
	   :: else
	   fi;
	   t = 0; b = 0;
end1:	   top < bottom
	od
}
