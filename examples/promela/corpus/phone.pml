/* Telephones that call each other through an exchange; calls meet, lines are engaged. */
#ifndef N
#define N 3
#endif
mtype = { onhook, dialling, ringing, talking, engaged };
mtype line[N] = onhook;
byte peer[N] = 255;

active [N] proctype Phone() {
	byte to, far;
	do
	:: atomic { line[_pid] == onhook -> line[_pid] = dialling };
	   if
	   :: to = (_pid + 1) % N
	   :: to = (_pid + 2) % N
	   :: to = _pid
	   fi;
	   atomic {
	      if
	      :: line[to] == onhook -> line[to] = ringing; peer[to] = _pid; peer[_pid] = to
	      :: else -> line[_pid] = engaged
	      fi
	   };
	   do
	   :: atomic { line[_pid] == talking -> break }
	   :: atomic { line[_pid] == engaged -> break }
	   :: atomic { line[_pid] == dialling ->        /* hang up before the other answers */
	      if
	      :: peer[_pid] != 255 -> line[to] = onhook; peer[to] = 255; peer[_pid] = 255
	      :: else
	      fi;
	      line[_pid] = engaged; break }
	   od;
	   atomic {
	      if
	      :: line[_pid] == talking ->
	         far = peer[_pid];
	         assert(peer[far] == _pid);
	         line[far] = engaged;
	         peer[far] = 255;
	         far = 0;
	         peer[_pid] = 255
	      :: else
	      fi;
	      line[_pid] = onhook;
	      to = 0
	   }
	:: atomic { line[_pid] == ringing -> line[_pid] = talking; line[peer[_pid]] = talking }
	:: atomic { line[_pid] == engaged -> line[_pid] = onhook }
	od
}
