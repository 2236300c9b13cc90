byte x; byte y;
active proctype A() {
	{ { x = 1; x = 2; x = 3 } unless { y == 1; x = 7; x = 8 } } unless { y == 2; x = 9 }
}
active proctype B() { y = 1; y = 2; y = 0 }
