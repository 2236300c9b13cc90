byte x;
active proctype A() { do :: x < 3 -> x++ :: x == 3 -> x = 0 od }
never { T0: if :: atomic { x == 2 -> assert(x != 2) } :: x < 2 -> goto T0 fi }
