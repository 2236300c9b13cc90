/* Chandy and Lamport in a bank: two branches send money to and fro, and the snapshot has as
   much as there is. -D BUG: channels are not recorded. */
#ifndef T
#define T 3
#endif
#define marker 255
chan c[2] = [3] of { byte };	/* c[i] goes to i */
byte money[2] = 5;
byte saved[2], inside[2];
bool done[2], recorded[2];

proctype Branch(byte i) {
	byte v, k;
	bool open;
	do
	:: k < T && money[i] > 0 -> atomic { money[i]--; c[1 - i]!1 }; k++
	:: c[i]?v ->
	   if
	   :: v == marker ->
	      if
	      :: !recorded[i] -> atomic { saved[i] = money[i]; recorded[i] = true; c[1 - i]!marker }
	      :: else -> open = false
	      fi;
	      done[i] = true
	   :: else ->
	      atomic {
	         money[i]++;
#ifndef BUG
	         if :: open -> inside[i]++ :: else fi
#endif
	      }
	   fi
	:: i == 0 && !recorded[0] -> atomic { saved[0] = money[0]; recorded[0] = true; open = true; c[1]!marker }
	:: k == T && done[i] && done[1 - i] && empty(c[i]) -> break
	od
}

init {
	atomic { run Branch(0); run Branch(1) }
	done[0] && done[1];
	assert(saved[0] + saved[1] + inside[0] + inside[1] == 10)
}
