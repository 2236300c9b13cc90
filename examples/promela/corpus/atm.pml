/* A cash machine with a card, a PIN and three attempts; a power cut (unless) can come
   at any time. -D BUG gives the money before the account is charged. */
mtype = { card, pin, wrong, ok, cash, eject, keep };
chan user = [0] of { mtype, byte };
chan atm = [0] of { mtype, byte };
byte balance = 3, pocket;
bool power = true;

active proctype User() {
	byte n;
	{
	do
	:: user!card(0);
retry:	   if
	   :: user!pin(1)
	   :: user!pin(0)
	   fi;
	   if
	   :: atm?ok(_) ->
	      select (n : 1 .. 2);
	      user!cash(n);
	      if
	      :: atm?cash(n) -> pocket = pocket + n
	      :: atm?eject(_)
	      fi
	   :: atm?wrong(_) -> goto retry
	   :: atm?keep(_) -> break
	   :: atm?eject(_)
	   fi
	:: break
	od
	} unless { timeout -> printf("the machine is dead\n") }
}

active proctype Machine() {
	byte tries, want, p;
end:	do
	:: user?card(_) ->
	   tries = 0;
again:	   user?pin(p);
	   {
	      if
	      :: p == 1 ->
	         atm!ok(0);
	         user?cash(want);
	         if
	         :: want <= balance ->
#ifdef BUG
	            atm!cash(want);
	            balance = balance - want
#else
	            balance = balance - want;
	            atm!cash(want)
#endif
	         :: else -> atm!eject(0)
	         fi
	      :: p == 0 && tries < 2 -> tries++; atm!wrong(0); goto again
	      :: else -> atm!keep(0)
	      fi
	   } unless { !power; power = true; goto stop };
	   want = 0;
	   p = 0
	od;
stop:	skip
}

active proctype Power() {
	if
	:: power = false
	:: skip
	fi
}

active proctype Audit() {
	assert(balance + pocket <= 3)
}
