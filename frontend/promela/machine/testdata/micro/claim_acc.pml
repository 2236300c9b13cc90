byte x; bool b;
active proctype A() { do :: x < 3 -> x++ :: x > 1 -> x-- ; accept_a: b = 1 - b od }
active proctype B() { progress: x > 0; b = 1 }
never { do :: true :: x == 2 -> break od; accept: do :: x > 0 :: else -> assert(x == 0) od }
