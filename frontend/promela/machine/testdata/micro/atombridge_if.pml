byte x; byte y;
active proctype A() {
	atomic { x = 1; do :: x==1 -> goto L :: x = 2; break od };
	atomic { x = 9; if :: x = 3; L: x = 4; x = 5 :: goto M fi};
	M: x = 6
}
active proctype B() { y = x; y = x}
