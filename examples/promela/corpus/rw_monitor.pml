/* Readers and writers through a monitor process with rendezvous; writers have
   precedence. -D BUG: the monitor decides whom it lets in before anybody asks, and waits
   forever for a reader that waits for a writer. */
#ifndef R
#define R 3
#endif
#ifndef W
#define W 2
#endif
mtype = { rstart, rstop, wstart, wstop };
chan gate = [0] of { mtype };
byte nr, nw, waiting;

active proctype Monitor() {
	byte r, w;
end:	do
#ifdef BUG
	:: w == 0 && waiting == 0 -> gate?rstart; r++
	:: r > 0 -> gate?rstop; r--
	:: r == 0 && w == 0 -> gate?wstart; w++
#else
	:: r == 0 && w == 0 && waiting == 0 ->
end1:	   if
	   :: gate?rstart; r++
	   :: gate?wstart; w++
	   fi
	:: r > 0 && waiting == 0 ->
	   if
	   :: gate?rstart; r++
	   :: gate?rstop; r--
	   fi
	:: r > 0 && waiting > 0 -> gate?rstop; r--
	:: r == 0 && w == 0 && waiting > 0 -> gate?wstart; w++
#endif
	:: w > 0 -> gate?wstop; w--
	od
}

active [R] proctype Reader() {
	do
	:: gate!rstart;
	   nr++;
	   assert(nw == 0);
	   nr--;
	   gate!rstop
	od
}

active [W] proctype Writer() {
	do
	:: waiting++;
	   gate!wstart;
	   waiting--;
	   nw++;
	   assert(nw == 1 && nr == 0);
	   nw--;
	   gate!wstop
	od
}
