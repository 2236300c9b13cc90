/* dice.pml: N players throw a die and wait forever; the twin of dice.model. */
#ifndef N
#define N 6
#endif
#ifndef S
#define S 6
#endif

byte dice[N];

#define side(k) :: d_step { k <= S -> dice[_pid] = k }

active [N] proctype Player() {
	if
	side(1)
	side(2)
	side(3)
	side(4)
	side(5)
	side(6)
	side(7)
	side(8)
	fi;
	false
}
