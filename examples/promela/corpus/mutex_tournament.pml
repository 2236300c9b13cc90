/* A tree of Peterson's locks for four processes. -D BUG gives the locks back from the
   root's brother on: the wrong way round. */
typedef lock { bool want[2]; bit turn }
lock tree[3];
byte inside;

inline enter(l, side) {
	tree[l].want[side] = true;
	tree[l].turn = 1 - side;
	(!tree[l].want[1 - side] || tree[l].turn == side)
}

#ifndef N
#define N 3
#endif

active [N] proctype P() {
	byte leaf = 1 + _pid / 2;
	do
	:: enter(leaf, _pid % 2);
	   enter(0, _pid / 2);
	   inside++;
	   assert(inside == 1);
	   inside--;
#ifdef BUG
	   tree[leaf].want[_pid % 2] = false;
	   tree[0].want[_pid / 2] = false
#else
	   tree[0].want[_pid / 2] = false;
	   tree[leaf].want[_pid % 2] = false
#endif
	od
}
