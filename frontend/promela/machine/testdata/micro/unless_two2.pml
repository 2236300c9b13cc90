byte x; byte y;
active proctype A() {
	do :: { { x = 1; x = 2; x = 3 } unless { y == 1; x = 7; x = 8 } } unless { if :: y == 2 -> x = 9 :: y == 1 -> x = 10 :: else -> y > 0; x = 11 fi } 
	   :: x > 2 -> break od
}
active proctype B() { y = 1; y = 2; y = 0 }
