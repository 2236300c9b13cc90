/* A client sends two requests over a channel, and counts the replies that a
   server hands over in a rendezvous. */
mtype = { request, reply };
chan requests = [1] of { mtype, byte };
chan replies = [0] of { mtype, byte };

active proctype Client() {
	byte i, n;
	for (i : 0 .. 1) {
		requests!request(i);
		replies?reply(n);
		assert(n == i)
	}
}

active proctype Server() {
	byte n;
end:	do
	:: atomic { requests?request(n) -> replies!reply(n) }
	od
}

ltl answered { [] (len(requests) == 1 -> <> (len(requests) == 0)) }
