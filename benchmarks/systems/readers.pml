/* readers.pml: readers and writers of Courtois, Heymans and Parnas (1971); the twin of
 * readers.model. */
#ifndef R
#define R 3
#endif
#ifndef W
#define W 2
#endif
#ifndef DATA
#define DATA 2
#endif
#define down(s) atomic { s > 0 -> s-- }
#define up(s) s++

byte mutex1 = 1, writing = 1, reading;
byte page[DATA];

active [R] proctype Reader() {
	byte old, k;
	do
	:: down(mutex1);
	   reading++;
	   if :: reading == 1 -> down(writing) :: else fi;
	   up(mutex1);
	   old = page[0];
	   do
	   :: atomic { k < DATA - 1 -> assert(page[k] == old); k++ }
	   :: atomic { k == DATA - 1 -> assert(page[k] == old); k = 0; old = 0; break }
	   od;
	   down(mutex1);
	   reading--;
	   if :: reading == 0 -> up(writing) :: else fi;
	   up(mutex1)
	od
}

active [W] proctype Writer() {
	byte k;
	do
	:: down(writing);
	   do
	   :: d_step { k < DATA - 1 -> page[k] = (page[k] + 1) % 3; k++ }
	   :: atomic { k == DATA - 1 -> page[k] = (page[k] + 1) % 3; k = 0; break }
	   od;
	   up(writing)
	od
}
