package machine

import "testing"

// TestFacts are models whose counts SPIN 6.5.2 gave, as those of testdata/micro: what was
// found later, mostly in models that others wrote.
func TestFacts(t *testing.T) {
	for _, x := range []struct {
		name, text string
		want       counts
	}{
		{"a declaration behind xs is not a step",
			`chan c = [2] of { byte }; active proctype P() { xs c; byte x; c!1 }`, counts{3, 0, 0}},
		{"a goto at a label that something asks for is a step", `byte x;
active proctype A() { do :: x < 3 -> x++; L: goto M :: x == 3 -> B1: break od; M: x = 0; E1: x = 1 }
active proctype B() { byte k; do :: k < 2 -> k++ :: break od; (A[0]@L || A[0]@B1) }`,
			counts{65, 46, 3}},
		{"so it is in an atomic", `byte x;
active proctype A() { do :: x < 3 -> x++; atomic { x = x; L: goto M } :: x == 3 -> if :: x > 7 :: L2: goto E1 fi od; M: x = 0; E1: x = 1; if :: L3: goto Q :: x == 2 fi; Q: skip }
active proctype B() { byte k; do :: k < 2 -> k++ :: break od; (A@L || A@L2 || A@L3) }`,
			counts{64, 49, 3}},
		{"an escape that begins with an unless is lost in an atomic", `byte x, y, z, k;
active proctype P0() {
	{ atomic { x = 1 -> if :: z++; x++ :: y++ fi } } unless { { skip } unless { y = 1; z = 1 }; k = 3 };
	k = 1
}`, counts{7, 0, 0}},
		{"and is none outside of one", `byte x, y, z, k;
active proctype P0() {
	{ x = 1 -> if :: z++; x++ :: y++ fi } unless { { skip } unless { y = 1; z = 1 }; timeout };
	k = 1
}`, counts{5, 0, 0}},
		{"and the escape of an escape is, behind a break that leaves an atomic",
			`byte x, y; chan q = [2] of {byte};
active proctype P0() { byte a;
	{ atomic { a = 1; do :: a == 0 -> a = 2; y = a :: else -> break od } } unless { { q?_ } unless { x = 5; x = 7 } };
	y = 3
}`, counts{4, 0, 0}},
		{"hidden, and received into", `hidden byte h; byte x; chan q = [2] of { byte };
active proctype P() { do :: x < 4 -> x++; q!x :: q?h :: x == 4 -> h = 9; x = 0 od }`,
			counts{45, 7, 4}},
		{"hidden, and written before it is read", `hidden byte h = 3; byte x;
active [2] proctype P() { do :: atomic { x < 4 -> h = x; x = h + 1 } :: d_step { x == 4 -> h = 0; do :: h < 3 -> h++ :: else -> break od; x = h - 3 } od }`, counts{5, 6, 0}},
		{"hidden arrays, and what is printed", `hidden byte h[3]; hidden int k; byte x;
active [2] proctype P() { do :: x < 6 -> h[x % 3] = x; x++ :: x == 6 -> x = 0; k++; printf("%d", k) od }`, counts{193, 190, 1}},
		{"skips that SPIN takes out of an option", `byte x, y;
active proctype P0() { if :: x = 1; skip; skip; y = 1 :: printf("a"); skip; printf("b"); y = 2 fi }`, counts{9, 0, 0}},
		{"the last is not one of them", `byte x, y;
active proctype P0() { do :: x = 1; break :: skip; skip; true; skip od; skip; skip; L: skip }`,
			counts{7, 1, 0}},
		{"for over the messages of a channel", `typedef M { byte a; bit b };
chan q = [2] of { M }; byte s; M g;
active proctype A() { M m; int i; m.a = 3; q!m; m.a = 4;
	if :: q!m :: skip fi;
	for (m in q) { s = s + m.a; for (m in q) { s++ } }
	for (g in q) { s = s + g.a }
	{ for (m in q) { i++ } } }
active proctype B() { M m; if :: q?m :: skip fi; atomic { for (m in q) { m.b = 1 } } }`,
			counts{1860, 1451, 4}},
		{"a select whose variable has an underscore is a loop",
			`byte g; init { byte my_x; select (my_x : 1 .. 4); g = my_x }`, counts{20, 0, 0}},
		{"and so is one over two lines", `byte g; init { byte x; select (x :
1 .. 4); g = x }`, counts{20, 0, 0}},
		{"priorities that are counted up, and one that is out of range when it is assigned",
			`byte x; active proctype P() priority 2 { _priority--; x = 1; _priority = 300; x = 2 } active proctype Q() { x = 3; x = 4 }`, counts{28, 7, 0}},
		{"an unless in a d_step",
			`byte x, y; active [2] proctype P() { d_step { x = 3; { x == 1; x = 2 } unless { x == 3; x = 5 }; y++ }; d_step { skip; { y > 1; x = 0 } unless { y = y + 1; x = 1 } }; assert(x != 1) }`, counts{33, 16, 2}},
		{"an option has no scope of its own",
			`byte g; init { byte i; do :: i < 2 -> byte z = 1; z = i + 1; i++ :: i == 2 -> z = z + g; break od; g = z }`, counts{13, 0, 0}},
		{"a select that is a loop stops at once in a d_step",
			`byte w, k = 3; init { d_step { select(w : 1 .. k); w = w + 1 }; assert(w == 2) }`,
			counts{4, 0, 0}},
		{"and chooses in a D_proctype", `byte w_x; active D_proctype P() { select(w_x : 1 .. 2) }`,
			counts{8, 0, 1}},
		{"_priority", `byte cnt;
active proctype medium() priority 5 { set_priority(0, 8); printf("%d", _priority); cnt++ }
active proctype high() priority 10 { _priority = 9; cnt++ }
active proctype low() priority 1 { assert(_priority == 1 && cnt == 2) }`, counts{10, 0, 0}},
		{"fields that are initialised",
			`typedef A { byte x = 3; byte y[2] = 4; byte z[3] = { 1, 2, 3 } };
typedef B { A a; A c[2] }; B g[2];
init { assert(g[1].a.x == 3); assert(g[1].c[1].y[0] == 4); A b; assert(b.x == 3 && b.y[1] == 4 && b.z[2] == 3); b.x = 7; b.y[0] = 9 }`, counts{8, 0, 0}},
		{"channels in fields", `typedef A { chan c = [1] of { byte } };
A a; A b[2]; init { a.c!1; b[1].c!2; a.c?1 }`, counts{5, 0, 0}},
		{"sizes that a variable gives",
			`byte n = 2; byte b[n]; short m = 3; chan q[m] = [1] of { byte };
active [n] proctype A() { byte c[n]; c[1] = 1; b[1] = 1; q[2]!1 }`, counts{18, 10, 2}},
		{"numbers that are too large",
			`init { int x; x = 99999999999; assert(x == 1215752191); x = 99999999999999999999; assert(x == -1) }`, counts{6, 0, 0}},
		{"a d_step behind a loop in the same atomic",
			`active proctype P() { byte s; atomic { do :: s < 2 -> s++ :: else -> break od; d_step { s = 0; s = 1 } } }`, counts{3, 0, 0}},
		{"a d_step of an inline behind a loop", `inline dd() { d_step { s = 0; s = 1 } }
active proctype P() { byte s; do :: s < 2 -> s++ :: else -> break od; dd() }`, counts{8, 0, 0}},
		{"leading zeros mean nothing",
			`short w[3] = { 00101, 010, 09 }; init { assert(w[0] == 101 && w[1] == 10 && w[2] == 9) }`, counts{3, 0, 0}},
		{"an atomic with more ways through than numbers for their choices", `byte x;
active proctype A() { byte i; atomic { select (i : 0 .. 99); x = i }; if :: x == 98 :: x == 3 -> assert(false) fi }
active proctype B() { byte j, k; atomic { do :: j < 70 -> j++ :: j++; break :: j > 66 -> k++; if :: k = 2 :: k = 3 fi; break od } }`, counts{8426, 16352, 179}},
		{"a list that is too short, or too long",
			`typedef T { byte b[3] = { 4, 5 } }; T u; byte a[3] = { 1, 2 }; byte c[2] = { 1, 2, 3 };
init { byte z[4] = { 7, 6 }; a[2] == 2; u.b[2] == 5; z[3] == 6; c[1] == 2 }`, counts{6, 0, 0}},
		{"parentheses around what is received", `chan c = [1] of { byte, byte, byte };
init { byte x, y, z; c!1(2,3); c?<x,(y,z)>; c?[(x,y(z))]; c??(1,2,z); z == 3; c!(1),(2),3; c?x(y(z)) }`, counts{9, 0, 0}},
		{"a select from a number with a sign",
			`init { int i; select (i : -2 .. 2); assert(i > -3) }`, counts{21, 4, 0}},
		{"a select from a number in parentheses", `init { byte i; select (i : (1) .. 3) }`,
			counts{10, 2, 0}},
		{"a select from a character", `init { byte i; select (i : 'a' .. 'd') }`, counts{13, 3, 0}},
		{"characters behind a backslash",
			`init { byte x; x = '\0'; x == 48; x = '\\'; x == 92; x = '\f'; x == 12 }`,
			counts{8, 0, 0}},
		{"the first assignment of a for stands before its label and its unless",
			`byte n; active proctype P() { byte i; n == 1; if :: goto ab :: skip fi; i = 9;
	ab: for (i : 0 .. 1) { n = n + i } unless { n == 5 };
	ac: ad: select (i : 1 .. n); n = n + i; if :: n < 6 -> goto ad :: n == 6 -> goto ab :: else fi;
	atomic { e: for (i : 0 .. 2) { n = i; if :: n == 1 -> i++; goto e :: else fi } } }
active proctype Q() { n = 1; n = 5; n = 1 }`, counts{642, 513, 0}},
		{"a statement behind the call of an inline",
			`inline f() { skip } inline g() { f() f() } byte x; active proctype P() { g() x = 3; if :: f() x = 4 :: f() -> x = 2 fi; g() }`, counts{14, 0, 0}},
		{"the value of an inline",
			`inline g(a) { return a+1 } inline f(a) { byte k; k = g(a); return k * 2 }
byte x; typedef T { byte z[2] }; T t[2];
inline h(a) { if :: a > 1 -> return 1 :: else -> return 2 fi }
init { x = f(3); x == 8; x = h(3); t[1].z[0] = h(0); atomic { x = g(x) }; d_step { x = g(x) }; t[1].z[0] + x == 5 }`, counts{13, 0, 0}},
		{"_last is set within an atomic", `byte x;
active proctype A() { atomic { x = 1; (_last == 0); x = 2; run C() ; (_last == 0) }; x = 3; (_last == 2) }
active proctype B() { x = 7; x = 8 }
proctype C() { d_step { x = 4; if :: _last == 2 -> x = 6 :: else -> x = 11 fi }; x = 5 }`,
			counts{108, 66, 4}},
		{"_last is the receiver after a rendezvous", `chan c = [0] of { byte }; byte x;
active proctype A() { c!1; x = 1; c!2 }
active proctype B() { byte k; atomic { c?k; if :: _last == 0 -> x = 3 :: _last == 1 -> x = 4 fi; if :: _last == 0 -> x = 5 :: _last == 1 -> x = 6 fi }; c?k; (_last == 0); x = 9 }`, counts{4, 0, 1}},
		{"globals are initialised by their types",
			`int i = 3; int j = i + 1; byte k = j; hidden int h = 4; byte m = h; short s = k + 2; byte a[2] = s;
init { assert(j == 4 && k == 0); assert(m == 0 && s == 2); assert(a[1] == 0) }`, counts{5, 0, 0}},
		{"channels are numbered in that order",
			`typedef T { chan c = [1] of { bit } }; T t; chan d = [1] of { bit };
init { assert(d == 1 && t.c == 2); d!1; t.c!0 }`, counts{5, 0, 0}},
		{"structures as parameters",
			`typedef U { byte z; bit q }; typedef T { byte a = 5; U b; short c; chan d = [1] of { bit } }; T g;
proctype P(T x; byte y; U u) { byte s = x.a + y; assert(x.b.q == 1 && x.b.z == 7 && x.c == -2); assert(s == 9 && u.z == 3); x.d!1; x.a++ }
active proctype Q(T x) { assert(x.a == 0 && x.c == 0) }
init { T t; t.b.z = 7; t.b.q = 1; t.c = -2; atomic { run P(t, 4, 3, 1); run P(t, 4, t.b) }; t.d?1; run P(g, 4, g.b) }`, counts{367, 584, 126}},
		{"an initialiser of a structure does nothing",
			`typedef T { byte a; byte b }; T t = 3; init { T u = 4; t.a = 1; assert(t.b == 0 && u.a == 0); u.b = 2 }`, counts{5, 0, 0}},
		{"more fields than the messages have",
			`chan c = [1] of { bit }; chan b = [1] of { bit, bit }; proctype P(chan d) { byte x; d!1,2; if :: d?x,0 :: d?_,x :: d?<1,x> :: d?x,1 :: d?[1,x] -> x = 5 fi; x = 1 } init { run P(c) }`, counts{14, 2, 3}},
		{"a channel of many messages",
			`chan c = [300] of { bit }; short n; init { do :: n < 300 -> c!1; n++ :: else -> break od; assert(len(c) == 300 && full(c)); c?1; n = len(c) }`, counts{906, 0, 0}},
		{"what the preprocessor knows", `#if defined(__STDC__) && defined __LINE__
init { assert(__LINE__ == 2); printf(__FILE__) }
#endif`, counts{4, 0, 0}},
		{"elements of one array take fields of one message",
			`chan q = [1] of { byte, byte }; byte x[2]; init { q!1,2; q?x[0],x[1]; assert(x[0] == 1 && x[1] == 2); q!3,4; q?x[0],x[0]; assert(x[0] == 4) }`, counts{8, 0, 0}},
		{"a block has labels of its own", `byte x;
active proctype A() {
	{ x = 1; L: x++; if :: x < 4 -> goto L :: else fi };
	{ x = 30; L: x++; if :: x < 34 -> goto L :: else fi };
	x = 99
}`, counts{19, 0, 0}},
		{"a goto before makes one label of two", `byte x;
active proctype A() {
	{ x = 1; L: x++; if :: x < 4 -> goto L :: else fi };
	if :: x < 50 -> goto L :: else fi;
	{ x = 30; L: x++; if :: x < 34 -> goto L :: else fi };
	x = 99
}`, counts{71, 0, 0}},
		{"P@L means the first of them", `byte x;
active proctype A() {
	{ x = 1; L: x = 2 };
	{ x = 30; L: x = 31 };
	x = 99
}
active proctype B() { A@L; x = 60 }`, counts{31, 10, 1}},
		{"an inline has labels of its own", `byte x;
inline f() { x++; L: x++; if :: x < 5 -> goto L :: else fi }
active proctype A() { f(); x = 2; f(); }`, counts{17, 0, 0}},
		{"unless there is one around", `byte x;
inline f() { x++; L: x++; if :: x < 5 -> goto L :: else fi }
active proctype A() {
	f(); L: x++; f(); if :: x < 20 -> goto L :: else fi;
}`, counts{52, 0, 0}},
		{"a goto behind the block", `byte x;
active proctype A() {
	{ x = 1; L: x++ };
	if :: x < 4 -> goto L :: else fi
}`, counts{9, 0, 0}},
		{"means the last", `byte x;
active proctype A() {
	{ x = 1; L: x++ };
	{ x = 20; L: x = x + 2 };
	if :: x < 40 -> goto L :: else fi
}`, counts{25, 0, 0}},
		{"and into atomics", `byte x;
active proctype A() {
	x = 1; if :: x > 2 -> goto L :: else fi;
	atomic { x = 20; L: x = x + 2; if :: x > 50 -> goto M :: else fi };
	if :: x < 40 -> goto L :: else -> if :: x > 60 -> goto M :: else fi fi;
	atomic { x = 90; M: x++; x = 50 }
}`, counts{26, 0, 0}},
		{"inlines in inlines", `byte x;
inline g(n) { x++; L: x++; if :: x < n -> goto L :: else fi }
inline f(n) { x++; L: g(n); if :: x < n -> goto L :: else fi }
active proctype A() { f(5); f(9); if :: x > 10 -> goto L :: x < 10 -> goto M :: x == 10 fi; M: skip }`, counts{20, 0, 0}},
		{"labels of inlines and P@L", `byte x;
inline f() { x++; L: x = x + 3; x++ }
active proctype A() { f(); f(); L: x++; f() }
active proctype B() { A@L; x = 60 }`, counts{141, 45, 1}},
		{"two end labels", `byte x;
active proctype A() {
	do :: x < 3 -> x++; end: { x < 9; end1: x++ } :: x >= 3 -> { x = 7; end1: x == 9 } od }`,
			counts{11, 0, 0}},
		{"an option has no labels of its own", `byte x;
active proctype A() {
	{ do :: x < 3 -> x++ :: x == 3 -> x = 4; goto L :: x == 5 -> M: x = 7; break od; x = 9; L: x = 5; if :: x == 5 -> goto M :: else fi };
	{ x = 10; do :: x < 13 -> x++ :: x == 13 -> x = 14; goto L :: x == 15 -> M: x = 17; break od; x = 19; L: x = 15; if :: x == 15 -> goto M :: else fi }
}`, counts{13, 1, 0}},
		{"the body of a for has, and a side of an unless", `byte x;
active proctype A() {
	{ for (x : 1 .. 4) { if :: x == 2 -> goto L :: else -> x++ fi; L: x++ }; L: x = 5; if :: x == 5 -> x = 6; goto L :: x > 9 -> goto L :: else fi };
	{ x = 10; { if :: x == 12 -> goto L :: else -> x++ fi; L: x++ } unless { x = 12; L: x = 13 } ; L: x = 15 }
}`, counts{16, 1, 0}},
		{"inlines that jump ahead", `byte n, w, sema; bool done[2];
inline add(d) {
	byte v, u;
	atomic { n = n + d; v = n; u = w };
	if :: v > 0 || u == 0 -> goto ret :: else fi;
	assert(n == v && w == u); w = 0; sema = sema + u;
ret:	skip
}
inline wait() {
	byte v2;
again:	v2 = n;
	if :: v2 == 0 -> goto ret :: else -> atomic { if :: n == v2 -> w++ :: else -> goto again fi } fi;
	sema > 0; sema--; assert(n == 0);
ret:	skip
}
proctype G(byte i) { done[i] = true; add(-1) }
init { add(2); atomic { run G(0); run G(1) }; wait(); assert(done[0] && done[1]) }`,
			counts{911, 1222, 0}},
		{"variadic macros and __LINE__", `#define P(c, ...) printf(c, __VA_ARGS__)
#define Q(...) __VA_ARGS__
byte x;
init { P("%d %d", x, 3); Q(x = 1; x = 2); x = __LINE__;
	assert(x == 4) }`, counts{7, 0, 0}},
	} {
		if got := count(parse(t, x.text)); got != x.want {
			t.Errorf("%s: %+v, SPIN %+v", x.name, got, x.want)
		}
	}
}
