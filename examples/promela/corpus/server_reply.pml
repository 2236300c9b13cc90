/* Clients put the channel on which they wait into their requests, a structure with an array. */
typedef Msg { byte id; chan reply; byte pay[2] };
chan srv = [2] of { mtype, Msg };
mtype = { REQ, REP, QUIT };
chan pool[3] = [1] of { mtype, byte };
byte free = 3;
active proctype server() {
	Msg m; chan back; byte s;
end:	do
	:: srv?REQ(m) -> back = m.reply; s = m.pay[0] + m.pay[1]; back!REP(s)
	:: srv??QUIT,m -> break
	od
}
proctype client(chan my; byte n) {
	Msg m; byte r; chan mine = [1] of { byte }; chan other;
	m.reply = my; m.id = _pid; m.pay[0] = n; m.pay[1] = 2;
	srv!REQ(m);
	my?REP,r;
	assert(r == n + 2);
	mine!r; other = mine; other?<r>; other?eval(n + 2);
	if :: empty(mine) && nfull(other) && len(other) == 0 -> free++ fi
}
init {
	Msg m; byte i;
	for (i in pool) { free--; run client(pool[i], i) };
	free == 3;
	srv!!QUIT(m)
}
