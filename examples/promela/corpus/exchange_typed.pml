/* Needham and Schroeder's exchange, with messages that are structures, symbols of several mtypes, and an intruder
   who keeps one message. */
mtype:agent = { A, B, I };
mtype:nonce = { Na, Nb, gN };
mtype:kind = { m1, m2, m3 };
#define k(X) X
typedef Crypt { mtype:agent key; mtype:nonce d1; mtype:nonce d2; mtype:agent who };
chan net = [0] of { mtype:kind, mtype:agent, Crypt };
mtype:agent partnerA, partnerB;
bool okA, okB, knowsNa, knowsNb;
active proctype alice() {
	Crypt c; Crypt d;
	mtype:agent p;
	if :: p = B :: p = I fi;
	partnerA = p;
	c.key = p; c.d1 = Na; c.who = A;
	net!m1(p, c);
	net?m2, A, d;
	(d.key == A && d.d1 == Na);
	c.d1 = d.d2; c.d2 = 0;
	net!m3(p, c);
	okA = true
}
active proctype bob() {
	Crypt c, d;
	net?m1, B, c;
	(c.key == B);
	partnerB = c.who;
	d.key = c.who; d.d1 = c.d1; d.d2 = Nb;
	net!m2(c.who, d);
	net?m3, B, c;
	(c.key == B && c.d1 == Nb);
	okB = true
}
active proctype intruder() {
	Crypt t, s; mtype:kind m; mtype:agent x;
end:	do
	:: net?m, x, t ->
		if
		:: t.key == I ->
			d_step { if :: t.d1 == Na || t.d2 == Na -> knowsNa = true :: else fi;
			if :: t.d1 == Nb || t.d2 == Nb -> knowsNb = true :: else fi }
		:: else -> s.key = t.key; s.d1 = t.d1; s.d2 = t.d2; s.who = t.who
		fi
	:: s.key != 0 -> net!m2(A, s)
	:: knowsNa -> t.key = B; t.d1 = Na; t.d2 = 0; t.who = A; net!m1(B, t)
	:: knowsNb -> t.key = B; t.d1 = Nb; t.d2 = 0; net!m3(B, t)
	od
}
ltl secret { [] (okB && partnerB == A -> partnerA == B) }
ltl nb { [] !(knowsNb && partnerB == A) }
