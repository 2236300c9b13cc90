/* Two trucks bring packages to places (the planning competition of 1998). */
#ifndef PACKAGES
#define PACKAGES 5
#endif
#ifndef PLACES
#define PLACES 5
#endif
#define TRUCKS 2

byte truck[TRUCKS];
byte at[PACKAGES]; /* a place, or PLACES + a truck */

#define DRIVE(t, to) :: d_step { truck[t] != to -> truck[t] = to }
#define LOAD(p, t) :: d_step { at[p] == truck[t] -> at[p] = PLACES + t } \
	:: d_step { at[p] == PLACES + t -> at[p] = truck[t] }
#define PACKAGE(p) LOAD(p, 0) LOAD(p, 1)

active proctype Plan() {
end:	do
	DRIVE(0, 0) DRIVE(0, 1) DRIVE(0, 2) DRIVE(0, 3) DRIVE(0, 4)
	DRIVE(1, 0) DRIVE(1, 1) DRIVE(1, 2) DRIVE(1, 3) DRIVE(1, 4)
	PACKAGE(0) PACKAGE(1) PACKAGE(2) PACKAGE(3) PACKAGE(4)
	od
}
