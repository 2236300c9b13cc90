byte x;
D_proctype A(byte k) { x = k; if :: x==1 -> x = 2 :: x == 1 -> x=3 :: x = 4 fi; atomic { x = 5; if :: x = 6 :: x = 7 fi } }
init { run A(1) }
