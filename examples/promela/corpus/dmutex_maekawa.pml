/* Maekawa's quorums without the messages that dissolve circles: it can deadlock. */
#ifndef N
#define N 3
#endif
mtype = { req, grant, rel };
chan c[N] = [6] of { mtype, byte };	/* to the voters */
chan g[N] = [2] of { byte };		/* votes */
byte critical;

active [N] proctype Voter() {
	byte who;
	chan wait = [N] of { byte };
	bit free = 1;
end:	do
	:: c[_pid]?req, who -> if :: free -> free = 0; g[who]!_pid :: else -> wait!who fi
	:: c[_pid]?rel, who -> if :: wait?who -> g[who]!_pid :: empty(wait) -> free = 1 fi
	od
}

active [N] proctype P() {
	byte i = _pid - N, k;
	c[i]!req, i;
	c[(i + 1) % N]!req, i;
	g[i]?k;
	g[i]?k;
	critical++;
	assert(critical == 1);
	critical--;
	c[i]!rel, i;
	c[(i + 1) % N]!rel, i
}
