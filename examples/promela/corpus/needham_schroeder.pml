/* The public key protocol of Needham and Schroeder with an intruder who speaks as himself with A
   and as A with B. Lowe's attack breaks it; -D FIX puts the responder's name in the second
   message. Keys and nonces are names. */
mtype = { none, A, B, I, Na, Nb, Ni, m1, m2, m3 };
chan net = [0] of { mtype, mtype, mtype, mtype, mtype, mtype }; /* to, kind, key, and the three parts */
mtype partnerA = none, partnerB = none;
bool doneA, doneB;
bool knowsNa, knowsNb;

active proctype Alice() {
	mtype p, n;
	if
	:: p = B
	:: p = I
	fi;
	partnerA = p;
end0:	net!I,m1,p,Na,A,none;
#ifdef FIX
end1:	net?eval(A),m2,eval(A),Na,n,eval(p);
#else
end1:	net?eval(A),m2,eval(A),Na,n,_;
#endif
end2:	net!I,m3,p,n,none,none;
	doneA = true
}

active proctype Bob() {
	mtype p, n;
end0:	net?eval(B),m1,eval(B),n,p,_;
	partnerB = p;
#ifdef FIX
end1:	net!I,m2,p,n,Nb,B;
#else
end1:	net!I,m2,p,n,Nb,none;
#endif
end2:	net?eval(B),m3,eval(B),Nb,_,_;
	doneB = true
}

active proctype Intruder() {
	mtype kind, key, x, y, z;
	mtype sk, skey, sx, sy, sz;
end:	do
	:: atomic { net?I,kind,key,x,y,z ->
	      if
	      :: key == I ->
	         if
	         :: x == Na || y == Na -> knowsNa = true
	         :: else
	         fi;
	         if
	         :: x == Nb || y == Nb -> knowsNb = true
	         :: else
	         fi
	      :: else -> sk = kind; skey = key; sx = x; sy = y; sz = z
	      fi;
	      kind = none; key = none; x = none; y = none; z = none }
	:: atomic { skey != none ->
end1:	      net!skey,sk,skey,sx,sy,sz }
	:: atomic { knowsNa ->
end2:	      net!B,m1,B,Na,A,none }
	:: net!B,m1,B,Ni,I,none
	:: atomic { knowsNb ->
end3:	      net!B,m3,B,Nb,none,none }
	:: atomic { knowsNa && knowsNb ->
end4:	      net!A,m2,A,Na,Nb,I }
	:: atomic { knowsNa ->
end5:	      net!A,m2,A,Na,Ni,I }
	od
}

ltl secret { [] !(doneB && partnerB == A && knowsNb) }
ltl agree { [] ((doneA && doneB && partnerB == A) -> partnerA == B) }
