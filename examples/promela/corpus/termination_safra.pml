/* Detecting the end of a computation on a ring with a token that counts messages and has a
   colour (after Safra). -D BUG does not count. */
#ifndef N
#define N 3
#endif
#ifndef WORK
#define WORK 3
#endif
bool busy[N], black[N];
short diff[N];
byte mail[N], work = WORK;
byte at;
short sum;
bool tblack = true, detected;

active [N] proctype Node() {
	byte k;
	d_step {
		if
		:: _pid == 0 -> busy[0] = true
		:: else
		fi
	};
end:	do
	:: atomic { busy[_pid] && work > 0 ->
	      work--;
	      select (k : 0 .. N - 1);
	      mail[k]++;
	      diff[_pid]++;
	      k = 0 }
	:: busy[_pid] -> busy[_pid] = false
	:: d_step { mail[_pid] > 0 -> mail[_pid]--; busy[_pid] = true; diff[_pid]--; black[_pid] = true }
	:: d_step { at == _pid && !busy[_pid] && !detected && _pid != 0 ->
#ifndef BUG
	      sum = sum + diff[_pid];
#endif
	      tblack = tblack || black[_pid];
	      black[_pid] = false;
	      at = _pid - 1 }
	:: d_step { at == 0 && _pid == 0 && !busy[0] && !detected ->
	      if
	      :: !tblack && !black[0] &&
#ifdef BUG
	         true
#else
	         sum + diff[0] == 0
#endif
	         -> detected = true
	      :: else -> sum = 0; tblack = false; black[0] = false; at = N - 1
	      fi }
	od
}

ltl sound { [] (detected -> (!busy[0] && !busy[1] && !busy[2] && mail[0] + mail[1] + mail[2] == 0)) }
