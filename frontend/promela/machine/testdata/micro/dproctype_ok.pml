byte x;
D_proctype A(byte k) { x = k; do :: x < 3 -> x++ :: x == 3 -> break od; x = 5 }
init { run A(1) }
