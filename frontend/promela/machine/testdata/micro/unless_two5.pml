byte x; byte y;
active proctype A() {
	{ x = 1; if :: x = 2 :: y > 0 -> { x = 3; x = 4 } unless { y == 1 } fi; x = 3 } unless { do :: y == 1 -> x = 7; x = 8 :: y == 2 -> break od}
}
active proctype B() { y = 1; y = 2; y = 0 }
