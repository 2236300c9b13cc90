/* Clients lock two accounts in any order, move an amount, and unlock them: two-phase locking
 * (Eswaran et al., 1976) without a manager that resolves deadlocks. */
#ifndef N
#define N 2
#endif
#ifndef ACCOUNTS
#define ACCOUNTS 3
#endif

byte balance[ACCOUNTS] = 1;
bool locked[ACCOUNTS];

active [N] proctype Client() {
	byte a, b;
end:	do
	:: d_step { a < ACCOUNTS - 1 -> a++ }
	:: d_step { b < ACCOUNTS - 1 -> b++ }
	:: d_step { a != b && !locked[a] -> locked[a] = true }; break
	od;
	skip;
	d_step { !locked[b] -> locked[b] = true };
	d_step {
		if
		:: balance[a] > 0 -> balance[a]--; balance[b]++
		:: else
		fi
	};
	locked[a] = false;
	locked[b] = false
}
