/* An atomic snapshot of two registers by collecting twice until nothing has changed. Each
   value comes with a number modulo S. With -D S=1 a change goes unnoticed. */
#define N 2
#ifndef S
#define S 8
#endif
byte reg[N], seq[N];

active proctype Writer() {
	byte n, rounds;
	do
	:: rounds < 7 ->
	   rounds++;
	   n = (n + 1) % 3;
	   d_step { reg[0] = n; seq[0] = (seq[0] + 1) % S };
	   d_step { reg[1] = n; seq[1] = (seq[1] + 1) % S }
	:: else -> break
	od
}

active proctype Scanner() {
	byte a[N], s[N], t[N], k;
	bool same;
again:	do
	:: for (k : 0 .. N - 1) { d_step { a[k] = reg[k]; s[k] = seq[k] } }
	   same = true;
	   for (k : 0 .. N - 1) {
	      t[k] = seq[k];
	      same = same && t[k] == s[k]
	   }
	   if
	   :: same -> break
	   :: else
	   fi
	od;
	assert(a[0] == a[1] || a[0] == (a[1] + 1) % 3);
	goto again
}
