/* Santa Claus: all reindeer or two elves wake him; the reindeer go first. */
#define DEER 2
#define ELVES 2
chan deer = [0] of { bit };
chan elf = [0] of { bit };
chan deerGo = [0] of { bit };
chan elfGo = [0] of { bit };
byte hitched, helped;

active proctype Santa() {
	byte d, e, i, year;
	do
	:: deer?_ -> d++
	:: elf?_ -> e++
	:: d == DEER -> d = 0; year++; hitched = DEER;
	   for (i : 1 .. DEER) { deerGo!0 }
	   hitched = 0;
	   if :: year == 2 -> break :: else fi
	:: d < DEER && e >= 2 -> e = e - 2; elfGo!0; elfGo!0
	od;
end:	do :: elf?_ -> e++ :: e >= 2 -> e = e - 2; elfGo!0; elfGo!0 od
}

active [DEER] proctype Deer() {
	byte y;
	for (y : 1 .. 2) { deer!0; deerGo?_; assert(hitched == DEER || hitched == 0) }
}

active [ELVES] proctype Elf() { byte k; for (k : 1 .. 2) { elf!0; elfGo?_; helped++ } }
