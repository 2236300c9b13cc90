/* Two players hit a ball over an unbuffered table until a referee takes it off. -D BUG: nobody
   tells the players. */
#ifndef K
#define K 6
#endif
chan table = [0] of { byte };
bool over;
byte hits[2];

active [2] proctype Player() {
	byte ball;
	do
	:: table?ball ->
	   hits[_pid]++;
	   ball++;
	   if :: ball < K -> table!ball :: else -> over = true; break fi
#ifndef BUG
	:: over -> break
#endif
	od
}

active proctype Referee() { table!0 }
