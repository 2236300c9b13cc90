/* A trace assertion: requests and answers in turn on two channels. -D BUG sends twice. */
mtype = { ask, answer };
chan q = [2] of { mtype };
chan r = [2] of { mtype };

active proctype Client() {
	byte n;
	do
	:: n < 4 -> q!ask; n++;
#ifdef BUG
	   if
	   :: q!ask; r?answer
	   :: skip
	   fi;
#endif
	   r?answer
	:: else -> break
	od
}

active proctype Server() {
end:	do
	:: q?ask -> r!answer
	od
}

trace {
end:	do
	:: q!ask; q?ask; r!answer; r?answer
	od
}
