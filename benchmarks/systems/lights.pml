/* lights.pml: Lights Out; the twin of lights.model. */
#ifndef W
#define W 5
#endif
#ifndef H
#define H 4
#endif

bool on[W * H];

#define press(k) :: d_step { k < W * H ->						\
		on[k] = !on[k];									\
		if :: k % W > 0 -> on[k - 1] = !on[k - 1] :: else fi;			\
		if :: k % W < W - 1 -> on[k + 1] = !on[k + 1] :: else fi;		\
		if :: k >= W -> on[k - W] = !on[k - W] :: else fi;			\
		if :: k < W * (H - 1) -> on[k + W] = !on[k + W] :: else fi }

active proctype Player() {
	do
	press(0)
	press(1)
	press(2)
	press(3)
	press(4)
	press(5)
	press(6)
	press(7)
	press(8)
	press(9)
	press(10)
	press(11)
	press(12)
	press(13)
	press(14)
	press(15)
	press(16)
	press(17)
	press(18)
	press(19)
	od
}
