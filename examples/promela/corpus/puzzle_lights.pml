/* Lights Out (Tiger Electronics, 1995) on a board of W x H. A press switches a lamp and its neighbors. */
#ifndef W
#define W 3
#endif
#ifndef H
#define H 3
#endif

bool on[W * H];

active proctype Player() {
	byte i;
end:	do
	:: d_step { i < W * H - 1 -> i++ }
	:: d_step { i == W * H - 1 -> i = 0 }
	:: d_step {
		on[i] = !on[i];
		if :: i % W > 0 -> on[i - 1] = !on[i - 1] :: else fi;
		if :: i % W < W - 1 -> on[i + 1] = !on[i + 1] :: else fi;
		if :: i >= W -> on[i - W] = !on[i - W] :: else fi;
		if :: i < W * H - W -> on[i + W] = !on[i + W] :: else fi
	   }
	od
}
