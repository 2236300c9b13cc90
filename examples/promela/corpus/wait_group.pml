/* A wait group: the last of the workers wakes who waits, and the results come by rendezvous. */
mtype = { Waiting, Running, Dead };
typedef g { mtype st; byte park };
g gs[4];
byte scratch;
int wg = 0;
chan runq = [8] of { byte };
chan sem = [1] of { bit };
proctype worker(byte id; chan done) {
	gs[id].st = Running;
	atomic { wg = wg - 1; if :: wg == 0 -> sem!1 :: wg < 0 -> assert(0) :: else fi }
	scratch = id;
	done!id, scratch+1;
	gs[id].st = Dead
}
init {
	chan d = [0] of { byte, byte };
	pid p[3];
	byte i, a, b;
	wg = 3;
	for (i in p) { gs[i].st = Waiting; p[i] = run worker(i, d); }
	for (i : 0 .. 2) { d?a,b; assert(b == a + 1) }
	sem?1;
	assert(wg == 0);
	(_nr_pr == 1);
}
