/* A d_step that begins with else begins if nothing before it in the selection can. */
byte x, y;

active [2] proctype P() {
	do
	:: d_step { x < 3 -> x++ }
	:: x == 2; y++; assert(y < 9)
	:: d_step { else; y = 9 }
	   break
	od
}
