/* A goto out of an atomic sequence to a label of the block around it: not to the one of that name
   elsewhere, as of another call of an inline. */
byte g, t;
bool r;

inline f() {
	if
	:: atomic { r = true; goto done }
	:: t++; goto done
	fi;
done:	g++
}

init {
	f();
	t = 0;
	f();
	t = 1
}
