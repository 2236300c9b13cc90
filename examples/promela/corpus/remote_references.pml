/* Two processes look at each other's locals, and a third where they are. */
byte g;
active [2] proctype P() { byte loc; 
	do :: loc < 3 -> loc++; 
mid:	   g = g + P[1 - _pid]:loc
	   :: loc == 3 -> break od;
fin:	skip }
active proctype Q() { P[0]@fin && P[1]:loc >= 1; assert(g < 9); if :: P[1]@mid -> g = 100 :: else -> g = 50 fi; 
  (P@fin) }
