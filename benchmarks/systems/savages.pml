/* savages.pml: dining savages (Andrews 1991); the twin of savages.model. */
#ifndef N
#define N 5
#endif
#ifndef M
#define M 9
#endif
#define down(s) atomic { s > 0 -> s-- }
#define up(s) s++

byte mutex1 = 1, empty1, full1, servings;

active [N] proctype Savage() {
	do
	:: down(mutex1);
	   if
	   :: servings == 0 ->
		up(empty1);
		down(full1)
	   :: else
	   fi;
	   d_step { servings--; assert(servings < M) };
	   up(mutex1);
eats:	   skip
	od
}

active proctype Cook() {
	do
	:: down(empty1);
	   servings = M;
	   up(full1)
	od
}
