/* LeLann, Chang and Roberts: a number goes round as long as it is larger than those it
   meets. -D BUG gives two processes the same number. */
#ifndef N
#define N 4
#endif
mtype = { probe, elected };
chan link[N] = [N] of { mtype, byte };
byte leaders, told;

proctype node(byte me; byte id) {
	mtype what;
	byte v;
	bool out;
	link[(me + 1) % N]!probe(id);
	do
	:: link[me]?what(v) ->
	   if
	   :: what == probe && v > id && !out -> link[(me + 1) % N]!probe(v)
	   :: what == probe && v < id
	   :: what == probe && v == id ->
	      leaders++;
	      assert(leaders == 1);
	      link[(me + 1) % N]!elected(id)
	   :: what == elected && v != id -> out = true; link[(me + 1) % N]!elected(v); break
	   :: what == elected && v == id -> break
	   fi
	od;
	told++
}

init {
	byte i;
	atomic {
		for (i : 0 .. N - 1) {
#ifdef BUG
			run node(i, (i * 3) % 2 + 5)
#else
			run node(i, (i * 3) % N + 5)
#endif
		}
	}
	told == N;
	assert(leaders == 1)
}
