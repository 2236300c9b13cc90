byte x; byte y;
active proctype A() {
	atomic { x = 1; x = 2; goto L };
	x = 9;
	atomic { x = 3; L: x = 4; x = 5 };
	x = 6
}
active proctype B() { y = x; y = x}
