/* The sieve of Eratosthenes as a line of processes, each of which starts the next. */
#ifndef MAX
#define MAX 12
#endif
byte primes;

proctype filter(chan in; byte p) {
	byte n;
	chan out = [0] of { byte };
	bool last = true;
	primes++;
	do
	:: in?n ->
	   if
	   :: n == 0 -> break
	   :: n != 0 && n % p == 0
	   :: else ->
	      if
	      :: last -> last = false; run filter(out, n)
	      :: else -> out!n
	      fi
	   fi
	od;
	if
	:: !last -> out!0
	:: else
	fi
}

init {
	chan c = [0] of { byte };
	byte i;
	run filter(c, 2);
	for (i : 3 .. MAX) { c!i }
	c!0;
	_nr_pr == 1;
	assert(primes == 5)
}
