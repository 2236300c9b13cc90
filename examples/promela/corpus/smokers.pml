/* Cigarette smokers: an agent lays out two of three things. With semaphores only, as Patil
   asked (-D BUG), it stands still; with pushers it does not. */
byte thing[3];
byte agent = 1;
byte pair[3];
byte smoked[3];
bool is[3];
byte mutex = 1;
#define P(s) atomic { s > 0 -> s-- }

active proctype Agent() {
	byte i;
	do
	:: P(agent);
	   select (i : 0 .. 2);
	   d_step { thing[(i + 1) % 3]++; thing[(i + 2) % 3]++; i = 0 }
	od
}

#ifdef BUG
active [3] proctype Smoker() {
	byte me = _pid - 1;
	do
	:: P(thing[(me + 1) % 3]);
	   P(thing[(me + 2) % 3]);
	   agent++
	od
}
#else
active [3] proctype Pusher() {
	byte me = _pid - 1;
	do
	:: P(thing[me]);
	   P(mutex);
	   if
	   :: is[(me + 1) % 3] -> is[(me + 1) % 3] = false; pair[(me + 2) % 3]++
	   :: is[(me + 2) % 3] -> is[(me + 2) % 3] = false; pair[(me + 1) % 3]++
	   :: else -> is[me] = true
	   fi;
	   mutex++
	od
}

active [3] proctype Smoker() {
	byte me = _pid - 4;
	do
	:: P(pair[me]);
progress:
	   agent++
	od
}
#endif
