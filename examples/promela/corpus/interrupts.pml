/* A main program with two nested interrupts; handlers run with provided clauses, so that the lower
   level stands still. -D BUG updates a shared counter without a lock-out. */
bool irq1, irq2, off;
byte counter, n1, n2;

active proctype Main() provided (!irq1 && !irq2) {
	byte t, k;
	do
	:: k < 3 ->
#ifndef BUG
	   off = true;
#endif
	   t = counter;
	   counter = t + 1;
	   off = false;
	   t = 0;
	   k++
	:: else -> break
	od;
	n1 == 2 && n2 == 2;
	assert(counter == 7)
}

active proctype Low() provided (!irq2) {
	do
	:: n1 < 2 ->
	   atomic { !off && !irq1 -> irq1 = true };
	   counter++;
	   n1++;
	   irq1 = false
	:: else -> break
	od
}

active proctype High() {
	do
	:: n2 < 2 ->
	   atomic { !off && !irq2 -> irq2 = true };
	   counter++;
	   n2++;
	   irq2 = false
	:: else -> break
	od
}
