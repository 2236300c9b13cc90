package program

import (
	"strings"
	"testing"

	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
)

// TestRejected holds what SPIN 6.5.2 rejects, and embedded C: each is refused with its
// place and a message.
func TestRejected(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"byte m; active proctype A() { byte m; m = 1 }",
			"1:36: redeclaration of m; it is a global variable, declared in line 1"},
		{"byte m; proctype A(byte m) { m = 1 } init { run A(1) }", "1:25: redeclaration of m"},
		{"active proctype A() { byte x; { byte x; x = 1 }; x = 2 }",
			"redeclaration of x; it was declared in line 1"},
		{"byte total; active proctype A() { totl = 1 }",
			"1:35: undeclared variable: totl; did you mean total?"},
		{"active proctype A() { goto done; don: skip }",
			"1:28: there is no label done in A; did you mean don?"},
		{"active proctype A() { L: skip; L: skip }", "label L is redefined"},
		{"active proctype A() { break }", "break outside of a loop"},
		{"active proctype A() { byte x; if :: x = 1 fi; od }", "found"},
		{"active proctype A() { do :: skip }", "where od should end this do"},
		{"active proctype A() { byte x x = 1 }", "found \"x\""},
		{"active proctype A() { atomic { L: skip } }",
			"1:32: a label is not allowed before the first statement of atomic"},
		{"active proctype A() { d_step { L: skip } }",
			"a label is not allowed before the first statement of d_step"},
		{"active proctype A() { { L: skip } }", "a label is not allowed before"},
		{"init { { skip } unless { L: skip } }", "a label is not allowed before"},
		{"inline f() { L: skip } init { f() }", "a label is not allowed before the first statement " +
			"of the inline f"},
		{"active proctype A() { d_step { run A() } }", "run is not allowed in a d_step"},
		{"active proctype A() { d_step { goto L }; L: skip }",
			"a goto cannot lead into a d_step or out of one"},
		{"active proctype A() { goto L; d_step { skip; L: skip } }",
			"a goto cannot lead into a d_step or out of one"},
		{"init { do :: d_step { break } od }", "break outside of a loop"},
		{"proctype Adder() { skip } init { run Ader() }",
			"there is no process type Ader; did you mean Adder?"},
		{"proctype A(byte x) { skip } init { run A() }",
			"A has 1 parameters, and here 0 arguments"},
		{"proctype A() { skip } init { run A(1) }", "A has 0 parameters, and here 1 arguments"},
		{"proctype A() { skip } proctype A() { skip } init { run A() }", "A is redeclared"},
		{"byte x; byte x; init { x = 1 }", "x is redeclared"},
		{"mtype = { a, a }; init { skip }", "declared twice"},
		{"mtype = { a }; byte a; init { a = 1 }", "a is a symbolic constant"},
		{"chan q = [1] of { byte }; init { q!1,2 }",
			"this send has 2 fields, and no channel of the model has messages of more than 1"},
		{"chan q = [1] of { byte, byte }; init { byte x; q?x,x }",
			"1:52: x takes two fields of this message"},
		{"byte q; init { q!1 }", "q is not a channel"},
		{"byte x; init { x[3] = 1 }", "x is not an array"},
		{"byte x[0]; init { skip }", "array x has length 0"},
		{"typedef T { byte al }; T t; init { t.a = 1 }", "T has no field a"},
		{"typedef T { byte a }; typedef T { byte b }; init { skip }",
			"1:31: T is redeclared; it was declared in line 1"},
		{"proctype A() { skip }", "nothing runs"},
		{"init { byte x; select (x : 5 .. 2) }", "chooses from nothing"},
		{"ltl p { [] } byte x; init { skip }", "1:12:"},
		{"ltl p { [] (x == 1 } byte x; init { skip }", "1:20:"},
		{"ltl p { true } ltl p { true } init { skip }", "a second property with the name p"},
		{"never a { skip } never a { skip } init { skip }", "a second never claim with the name a"},
		{"init { assert }", "1:15:"},
		{"chan q = [1] of { bit }; byte x; init { x = q + 1 }",
			"1:45: q is a channel, whose number cannot be a part of what is assigned; len(q) is"},
		{"chan q = [1] of { bit }; byte x; init { x = !q }", "q is a channel, whose number"},
		{"chan q = [1] of { bit }; byte x; init { x = (q -> 1 : 2) }",
			"q is a channel, whose number"},
		{"chan q[2] = [1] of { bit }; byte x; init { x = (1 + q[0]) * 2 }",
			"q is a channel, whose number"},
		{"chan q = [1] of { bit }; byte x = q + 1; init { skip }", "q is a channel, whose number"},
		{"chan q = [1] of { bit }; byte x; byte a[3]; init { x = a[q + 1] }",
			"q is a channel, whose number"},
		{"chan q = [1] of { bit }; byte x; init { x = enabled(q) }",
			"q is a channel, whose number"},
		{"chan c = [1] of { bit }; proctype P(chan q) { q++ } init { run P(c) }",
			"q is a channel, whose number"},
		{"init { printf(\"a\" \"b\") }", "1:19: a second string; they are not joined in Promela, " +
			"write one"},
		{"mtype = { W }; init { skip; W: skip }", "1:29: W is a symbolic constant and cannot be " +
			"a label, too"},
		{"mtype:m = { V, W }; init { skip; W: skip }", "W is a symbolic constant"},
		{"inline W() { skip } init { skip; W: skip }", "W is an inline and cannot be a label, too"},
		{"typedef W { byte a }; init { skip; W: skip }", "W is a type and cannot be a label, too"},
		{"active proctype A() { P@L } active proctype P() { L: skip }",
			"1:23: P is declared only below"},
		{"active proctype A() { P[1]:x == 1 } active proctype P() { byte x; x = 1 }",
			"1:23: P is declared only below"},
		{"byte x; active proctype A() { goto L; { x = 1; L: x = 2 }; { x = 3; L: x = 4 } }",
			"1:69: label L is redefined; it was defined in line 1"},
		{"byte x; active proctype A() { x = 1; L: { x = 2; L: x = 3 } }",
			"1:50: label L is redefined"},
		{"byte x; proctype P(byte me) provided (x != me) { skip } init { run P(1) }",
			"1:44: provided can read global variables and _pid, as in SPIN, and me of P " +
				"only in an index"},
		{"active proctype P() provided (x == 0) { byte x; x = 1 }", "undeclared variable: x"},
		{"byte x; init { skip; L: x = 2 unless { x == 5 } }",
			"1:22: this label would stand within the unless, which SPIN refuses; write L: { ... " +
				"unless ... }"},
		{"byte x; init { skip; L: if :: x = 2 fi unless { x == 5 } }",
			"1:22: this label would stand within the unless"},
		{"byte x; init { skip; L: d_step { x = 2 } unless { x == 5 } }",
			"1:22: this label would stand within the unless"},
		{"byte x; init { skip; L: M: { x = 2 } unless { x == 5 } }",
			"1:22: this label would stand within the unless"},
		{"byte x; init { { x = 1 } unless L: x == 5 }",
			"1:33: a label is not allowed before the statement behind unless"},
		{"never { P@L } active proctype P() { L: skip }", "1:9: P is declared only below"},
		{"init { printf(x) }", "printf needs a format in quotes"},
		{"init { byte x; x = 1 + ; }", "1:26: found \"}\" where an expression should be"},
		{"init { unsigned x; x = 1 }", "unsigned x needs its width"},
		{"unsigned x : 32; init { x = 1 }", "the width of an unsigned is a number from 1 to 31"},
		{"init { int x : 3; x = 1 }", "only an unsigned has a width"},
		{"byte a[2]; init { a = 1 }", "1:19: a is an array, which needs an index here: a[0] is " +
			"its first element"},
		{"typedef T { byte a }; T t[2]; init { t.a = 1 }",
			"1:38: t is an array, which needs an index"},
		{"typedef T { byte a[2] }; T t; init { assert(t.a == 0) }", "1:47: a is an array"},
		{"chan q[2] = [1] of { bit }; init { q!1 }", "1:36: q is an array"},
		{"chan q[2] = [1] of { bit }; proctype P(chan c) { c!1 } init { run P(q) }",
			"q is an array"},
		{"byte a[2]; init { skip } ltl p { [] (a == 0) }", "1:38: a is an array"},
		{"inline f(s) { s } byte x; init { f(x = 1) }",
			"1:38: found \"=\" after an argument of inline f; arguments are expressions, and a " +
				"#define takes statements, too"},
		{"inline f(s) { if :: s fi } init { f(else) }",
			"1:37: found \"else\" where an expression should be"},
		{"inline f(s) { printf(s) } init { f(\"abc\") }",
			"1:36: found a string where an expression should be"},
		{"inline f(a b) { a = b } byte x; init { f(x, 1) }",
			"1:12: found \"b\" where the list of parameters needs \",\""},
		{"proctype P() provided (1) priority 2 { skip } init { run P() }",
			"1:27: priority stands before provided"},
		{"typedef T { byte a; unsigned u : 3 }; chan q = [1] of { byte, T }; init { skip }",
			"the messages of channel q cannot have the unsigned u in T"},
		{"typedef U { byte a }; typedef T { U u[2] }; chan q = [1] of { T }; init { skip }",
			"the messages of channel q cannot have the array of structures u in T"},
		{"typedef T { byte a[2] }; proctype P(T x) { skip } init { T t; run P(t) }",
			"the parameter x has an array, a, which cannot be passed"},
		{"typedef T { byte a; byte b }; proctype P(T x; byte y) { skip } init { T t; run P(t) }",
			"P has 3 parameters, and here 2 arguments, the fields of structures counted"},
		{"active proctype P() { skip } ltl P { true; }",
			"1:34: P is a process type and cannot be a property, too"},
		{"chan c; init { c = 0 }", "a number cannot be assigned to the channel c; another " +
			"channel can"},
		{"chan c; init { c!1 }", "no channel of the model has messages of more than 0"},
		{"chan c = [40000] of { bit }; init { c!1 }",
			"the capacity of channel c must be a constant from 0 to 32767"},
		{"chan c = [1] of { bit, }; init { c!1 }", "1:24: found \"}\""},
		{"typedef T { hidden byte a }; T t; init { skip }",
			"1:13: only a global variable can be hidden, not a field"},
		{"proctype P(hidden byte a) { skip } init { run P(1) }",
			"1:12: only a global variable can be hidden, not a parameter"},
		{"typedef T { }; init { skip }", "typedef T has no fields"},
		{"mtype = { }; init { skip }", "this mtype has no symbolic constants"},
		{"inline f(a) { a = 1 } init { byte x; f(x, x) }",
			"inline f has 1 parameters, and here 2 arguments"},
		{"inline f(a) { f(a) } init { byte x; f(x) }", "inline f calls itself"},
		{"active [-1] proctype A() { skip }", "-1 active processes"},
		{"#include \"nothing.h\"\ninit { skip }", "1:10: nothing.h"},
		{"#if 1\ninit { skip }", "this #if has no #endif"},
		{"#define f(a) a\ninit { byte x; x = f(1, 2) }",
			"macro f has 1 parameters, and here 2 arguments"},
		{"proctype A() { Lab: skip } init { A[0]@Lb }", "A has no label Lb; did you mean Lab?"},
		{"chan q = [1] of { }; init { skip }", "the messages of channel q have no fields"},
		{"chan q = [1] of { foo }; init { skip }", "foo is not a type"},
		{"init { byte s; do :: break od; d_step { s = 1 } }",
			"1:22: this jump leads to the d_step in line 1, which SPIN refuses"},
		{"init { byte s; L: d_step { s = 1 }; goto L }", "this jump leads to the d_step"},
		{"init { byte s; if :: goto L :: s = 2 fi; s = 1; L: d_step { s = 1 } }",
			"this jump leads to the d_step"},
		{"byte p[3]; init { p[p[0]] = 1 }", "p is indexed with one of its own elements"},
		{"typedef T { byte a[2] }; T t; init { t.a[t.a[0] + 1]++ }",
			"t.a is indexed with one of its own elements"},
		{"byte p[3]; init { for (p[1] : 0 .. 2) { skip } }", "for needs a plain variable"},
		{"byte p[3]; init { select (p[1] : 0 .. 2) }", "select needs a plain variable"},
		{"proctype A() { skip } init { if :: run A() == 1 -> skip fi }",
			"run is a part of a condition"},
		{"proctype A(byte k) { skip } init { run A(run A(1)) }", "run is a part of a condition"},
		{"proctype A() { skip } chan q = [1] of { byte }; init { q!run A() }",
			"run is not allowed in a send"},
		{"chan q = [1] of { byte }; init { byte x; for (x in q) { skip } }",
			"for needs an array after in, or a channel"},
		{"typedef T { byte a }; T v; chan q = [1] of { T, byte }; init { for (v in q) { skip } }",
			"for needs a variable here of the type"},
		{"chan q = [1] of { byte }; active proctype P() { q?_pid }",
			"1:51: _pid cannot be assigned, and nothing received into it; to receive what is the " +
				"same write eval(_pid)"},
		{"init { byte _pid; skip }", "_pid already exists"},
		{"byte L; init { L: skip }", "L is a variable and cannot be a label, too"},
		{"init { 'ab' }", "1:8:"},
		{"init { @ }", "1:8:"},
		{"init { byte x; if fi }", "where the first option"},
		{"init { d_step { do :: goto L; L: goto M; M: goto L od } }", "1:8: this jump loops"},
		{"init { d_step { do :: x = 1 - x od } }", "1:23: undeclared variable: x"},
		{"init { L: goto L }", "this goto loops"},
		{"chan q = [1] of { byte }; init { byte x; x = full(q) + 1 }",
			"1:46: full cannot be a part of this expression, as in SPIN, only a condition or a " +
				"side of && and ||; its negation is nfull(q)"},
		{"chan q = [1] of { byte }; init { !empty(q) }", "its negation is nempty(q)"},
		{"chan q = [1] of { byte }; init { byte x; !(x && full(q)) }", "full cannot be a part"},
		{"chan q = [1] of { byte }; init { q!empty(q) }", "empty cannot be a part"},
		{"chan q = [1] of { byte }; init { byte x; x = (full(q) -> 1 : 2) }",
			"full cannot be a part"},
		{"init { byte a; a = !!a }", "1:20: !! is a sorted send; a double negation is written ! !"},
		{"init { byte x = 1, y = x; skip }", "1:24: x is declared in the same declaration, and " +
			"known only after it"},
		{"byte x = 1, y = x; init { skip }", "1:17: undeclared variable: x; it is declared in " +
			"the same declaration, and known only after it"},
		{"chan a = [1] of { byte }, b = [1] of { byte }; init { skip }",
			"1:25: nothing can follow the { ... } of a in its declaration"},
		{"byte a[2] = { 1, 2 }, b; init { skip }", "nothing can follow the { ... } of a"},
		{"chan q[2] = [1] of { byte }; init { xr q[1]; skip }",
			"1:40: xr and xs are about a channel"},
		{"chan q[2] = [1] of { byte }; init { xs q; skip }", "1:40: xr and xs are about a channel"},
		{"byte a = { 1 }; init { skip }", "1:6: a is not an array"},
		{"byte a[2] = { }; init { skip }", "1:15: found \"}\" where a list of values needs a " +
			"constant"},
		{"byte a[2] = { 1 2 }; init { skip }", "1:17: found \"2\" where a \",\""},
		{"byte a[2] = { 1, -2 }; init { skip }", "1:18: found \"-\" where a list of values needs " +
			"a constant"},
		{"byte a[2] = { 1 + 1, 2 }; init { skip }", "1:17: found \"+\""},
		{"byte b = 1; byte a[2] = { 1, b }; init { skip }",
			"1:30: a list of values has constants only"},
		{"proctype A() { skip } init { byte x = run A(); skip }",
			"1:35: run is not allowed in the initializer of x"},
		{"proctype A() { skip } init { skip; { pid x = 1 + run A(); skip } }",
			"run is not allowed in the initializer of x"},
		{"active proctype A() { }", "1:23: there is no statement between these braces; write skip"},
		{"init { atomic { }; skip }", "there is no statement between these braces"},
		{"init { byte i; for (i : 1 .. 2) { } }", "there is no statement between these braces"},
		{"never { } init { skip }", "there is no statement between these braces"},
		{"init { ; skip }", "1:8: there is no statement before this \";\""},
		{"init { if :: -> skip fi }", "1:14: there is no statement before this \"->\""},
		{"proctype A(byte a;) { skip } init { run A(1) }",
			"1:18: nothing stands on one side of this \";\""},
		{"proctype A(; byte a) { skip } init { run A(1) }",
			"1:12: nothing stands on one side of this \";\""},
		{"proctype A(byte a, int b) { skip } init { run A(1, 2) }",
			"1:18: parameters of several types are separated by \";\""},
		{"chan q = [1] of { byte, byte }; init { byte x; q?x(x x) }",
			"where a receive needs \")\""},
		{"mtype:x = { red }; mtype:y = { blue }; mtype:x v; init { v = blue }",
			"1:62: v is of type mtype:x, and blue is a constant of mtype:y"},
		{"mtype:x = { red }; mtype = { blue }; mtype:x v = blue; init { skip }",
			"v is of type mtype:x, and blue is a constant of mtype"},
		{"mtype:x = { red }; mtype = { blue }; mtype:x v[2]; init { v[1] = (blue) }",
			"v is of type mtype:x, and blue is a constant of mtype"},
		{"mtype:x = { red }; mtype = { blue }; proctype A(mtype v) { skip } init { run A(red) }",
			"v is of type mtype, and red is a constant of mtype:x"},
		{"inline f(a) { return a } init { f(1) }", "1:15: return gives the value of an inline"},
		{"init { return 1 }", "1:8: return gives the value of an inline"},
		{"inline f(a) { return a } byte x; init { x = f(1) + 2 }", "1:50: found \"+\" where"},
		{"inline f(a) { return a } byte x; init { x = (f(1)) }",
			"1:46: f is an inline, and a call of it is a statement"},
		{"inline f(a) { return } byte x; init { x = f(1) }",
			"1:22: found \"}\" where an expression should be"},
		{"inline f() { } init { skip; f() }", "there is no statement between these braces"},
		{"init { x = 1 } byte x;", "1:8: undeclared variable: x; it is declared only below, and " +
			"a name is known only after its declaration"},
		{"proctype P() { x == 1 } byte x; init { run P() }",
			"undeclared variable: x; it is declared only below"},
		{"init { q!1 } chan q = [1] of { byte };", "undeclared variable: q; it is declared only " +
			"below"},
		{"never { do :: x == 1 od } byte x; init { skip }",
			"1:15: undeclared variable: x; it is declared only below"},
		{"active proctype P() provided (x == 0) { skip } byte x;",
			"undeclared variable: x; it is declared only below"},
		{"inline f() { x = 1 } init { f() } byte x;",
			"undeclared variable: x; it is declared only below"},
		{"init { byte m = a; skip } mtype = { a }", "undeclared variable: a; it is declared only " +
			"below"},
		{"byte y = x; byte x; init { skip }", "1:10: undeclared variable: x"},
		{"trace { q!1 } chan q = [1] of { byte }; init { q!1 }",
			"undeclared variable: q; it is declared only below"},
		{"mtype = { a }; init { byte a; a = 1 }", "1:28: a is a symbolic constant and cannot be " +
			"a variable, too"},
		{"mtype = { a }; typedef T { byte a }; T t; init { t.a = 1 }",
			"a is a symbolic constant and cannot be a variable, too"},
		{"typedef T { byte a }; T t; mtype = { a }; init { t.a = 1 }",
			"1:52: a is a symbolic constant and cannot be a variable, too"},
		{"byte P; proctype P() { skip } init { run P() }",
			"1:18: P is redeclared; it is a variable declared in line 1"},
		{"proctype P() { skip } byte P; init { run P() }",
			"1:28: P is a process type and cannot be a variable, too"},
		{"proctype P(byte P) { skip } init { run P(1) }",
			"P is a process type and cannot be a parameter, too"},
		{"proctype P() { skip } init { goto P; P: skip }",
			"1:35: P is a process type and cannot be a label, too"},
		{"typedef T { byte a }; byte T; init { skip }",
			"T is a type and cannot be a variable, too"},
		{"byte T; typedef T { byte a }; init { T = 1 }",
			"1:38: T is a type and cannot be a variable, too"},
		{"inline f() { skip } byte f; init { skip }",
			"f is an inline and cannot be a variable, too"},
		{"mtype = { a }; inline f(a) { skip } init { f(1) }",
			"a is a symbolic constant and cannot be a parameter, too"},
		{"inline f() { skip } proctype f() { skip } init { run f() }",
			"f is an inline and cannot be a process type, too"},
		{"proctype P() { skip } never P { skip } init { run P() }",
			"P is a process type and cannot be a claim, too"},
		{"never P { skip } proctype P() { skip } init { run P() }",
			"1:7: P is a process type and cannot be a claim, too"},
		{"mtype = { a }; init { a = 1 }", "found \"=\" where"},
		{"mtype = { a }; init { a++ }", "found \"++\" where"},
		{"init { byte local; skip }", "local is a word of the language"},
		{"byte _; init { skip }", "_ already exists and cannot be declared"},
		{"init { skip; _: skip }", "1:14: _ already exists and cannot be a label"},
		{"init { goto L; L: skip; byte L; L = 1 }",
			"1:30: L is a label and cannot be a variable, too"},
		{"byte x; init { if :: byte y; y = 1 :: byte y; y = 2 fi }",
			"1:44: redeclaration of y; it was declared in line 1"},
		{"byte U; ltl p { [] (U == 0) } init { skip }", "1:21: U is an operator in an ltl block"},
		{"byte next; ltl p { [] (next == 0) } init { skip }", "where an expression should be"},
		{"ltl p { [] !P@W } active proctype P() { W: skip }",
			"1:15: W is an operator in an ltl block, as in SPIN, and cannot be the name of a " +
				"label there"},
		{"active proctype A() { skip } active proctype B() { assert(pc_value(0) != 4) }",
			"1:59: pc_value gives the number that SPIN's verifier has"},
		{"byte x; ltl p { (x -> 1 : 2) } init { skip }", "found \":\" where"},
		{"ltl p { [ ] true } init { skip }", "1:9: found \"[\" where"},
		{"byte x, y; init { x = y\n + 1 }", "2:2: found \"+\" where an expression should be; the " +
			"end of a line ends a statement"},
		{"byte x; init { if :: (x == 0)\n && (x == 1) -> skip fi }",
			"2:2: found \"&&\" where an expression should be; the end of a line ends a statement"},
		{"byte x; init { x\n = 1 }", "2:2: found \"=\" where an expression should be; the end of " +
			"a line"},
		{"byte x; init { x = 1\n unless { x == 2 } }",
			"2:2: there is no statement before this unless on the same line"},
		{"byte a[3]; init { a[1\n] = 1 }", "found the end of the line where an index needs \"]\""},
		{"init { byte x\n, y; skip }", "2:1: found \",\" where an expression should be; the end " +
			"of a line"},
		{"chan q = [1] of { byte, byte }; init { q!1\n,2 }", "2:1: found \",\" where"},
		{"proctype P() { skip } init { run P()\n priority 2 }", "2:2: found \"priority\" where"},
		{"init { goto L; L\n: skip }", "2:1: found \":\" where"},
		{"typedef T { byte a byte b }; init { skip }",
			"1:20: found \"byte\" where a \";\" or a new line should separate two fields"},
		{"typedef T { ; byte a }; init { skip }", "found \";\" where a type should be"},
		{"mtype = { , a }; init { skip }", "1:11: found \",\" where the name of a symbolic " +
			"constant should be"},
		{"mtype:x { a }; init { skip }", "1:9: found \"{\" where the name of a variable should be"},
		{"proctype P(byte a, b) { skip } init { run P(1, , 2) }",
			"found \",\" where an expression should be"},
		{"proctype P(byte a, b) { skip } init { run P(1 2) }",
			"found \"2\" where the arguments of a process needs \",\""},
		{"show hidden byte x; init { skip }", "1:6: hidden is not a type"},
		{"init { do ; :: skip od }", "found \";\" where the first option"},
		{"byte x; init { { x = 1 } unless { x == 2 } unless { x == 3 } }",
			"1:44: a second unless; put braces around one of the two"},
		{"active proctype Q() { byte z; z = 1 } active proctype P() { d_step { Q:z == 1; skip } }",
			"1:70: a d_step cannot read a variable of another process here"},
		{"active proctype Q() { byte z; z = 1 } active proctype P() { d_step { skip; assert(1 + " +
			"Q:z == 1) } }", "a d_step cannot read a variable"},
		{"active proctype Q() { byte z; z = 1 } active proctype P() { d_step { printf(\"%d\", " +
			"Q:z); skip } }", "a d_step cannot read a variable"},
		{"active proctype Q() { L: skip } active proctype P() { byte x; d_step { x = Q@L; skip } }",
			"1:76: a d_step cannot ask where another process is"},
		{"chan q = [0] of { byte }; active proctype P() { enabled(1) }",
			"1:49: enabled cannot be asked in a model with rendezvous channels"},
		{"typedef T { chan q = [0] of { byte } }; init { skip } never { do :: enabled(0) od }",
			"enabled cannot be asked in a model"},
		{"chan q = [1] of { byte }; trace { atomic { q!1 } } init { q!1 }",
			"1:35: this is not an event"},
		{"chan q = [1] of { byte }; trace { { q!1 } } init { q!1 }", "1:35: this is not an event"},
		{"byte x; init { d_step { { x = 1 } unless { x == 2 } } }",
			"1:35: a d_step cannot begin with an unless"},
		{"byte x; init { d_step { if :: { x = 1 } unless { x == 2 } fi } }",
			"1:41: an unless cannot be the first of an option in a d_step"},
		{"byte x; init { d_step { { { x = 1 } unless { x == 2 } } } }",
			"a d_step cannot begin with an unless"},
		{"byte a, b; inline f(a, b) { a = b } init { f(b, a) }",
			"1:46: b is the name of another parameter of inline f"},
		{"typedef T { byte x } T t; inline f(x) { x = 1 } init { f(t.x) }",
			"1:58: t.x has x beside a dot"},
		{"typedef T { byte y } T msgs; inline f(s) { s = 1 } init { f(msgs.y) }",
			"msgs.y has s beside a dot"},
		{"byte x; proctype P() { skip } inline f(p) { x = p } init { f(run P()) }",
			"1:62: run is not allowed in an argument of inline f"},
		{"byte x; inline f(p) { x = p } init { f(! !x) }",
			"1:40: ! ! is !! to SPIN in an argument"},
		{"byte x; inline f(p) { x = p } init { f(x - -1) }", "- - is -- to SPIN in an argument"},
		{"chan q = [1] of { byte, byte }; byte x; inline f(p) { x = p } init { f(q?[1,2]) }",
			"an argument of inline f cannot have a comma in it"},
		{"mtype = { A }; init { printm(2) }", "1:30: found \"2\" where printm needs a variable"},
		{"mtype = { A }; mtype m; init { printm(m + 1) }", "found \"+\" where printm needs"},
		{"mtype = { A }; inline f(a) { printm(a) } init { f(A) }", "where printm needs a variable"},
		{"proctype P() { skip } init { run P() priority x }",
			"1:47: found \"x\" where a priority needs a number"},
		{"active proctype P() priority 0 { skip }", "1:30: priority 0: it can be from 1 to 255"},
		{"byte a[1 << 1]; init { skip }", "1:10: << is not allowed in a size, where " +
			"SPIN only has + - * / %"},
		{"byte n = 2; byte a[n + 1]; init { skip }", "1:20: n is not allowed in a size"},
		{"byte n = 2; chan q = [n] of { byte }; init { skip }",
			"the capacity of channel q must be a constant"},
		{"proctype P(byte a byte b) { skip } init { run P(1, 1) }",
			"1:19: found \"byte\" where a \";\" should separate two parameters"},
		{"byte x; init { for (x : 5 .. 2) { skip } }",
			"1:16: for from 5 to 2 chooses from nothing"},
		{"mtype = { A, B, C }; byte x; init { for (x : A .. C) { skip } }",
			"for from 3 to 1 chooses from nothing"},
		{"byte x; typedef F { byte e = x }; F f; init { skip }",
			"1:30: a field is initialized with constants"},
		{"byte x, y; init { atomic { x = 1; do :: break od; d_step { y = 1; y = 2 }; x = 2 } }",
			"1:41: this jump leads to the d_step in line 1"},
		{
			"byte x, y; init { atomic { if :: x = 1; for (x : 0 .. 1) { y++ }; d_step { y = 1 } " +
				"fi } }", "this jump leads to the d_step in line 1"},
		{"#define A(x, y) x\nbyte x; init { A(x,\n 1) = 1 }",
			"3:5: found \"=\" where an expression should be; the end of a line"},
		{"byte x; init { d_step { if :: x = 1 :: else -> x = 2 :: else -> x = 3 fi } }",
			"1:57: a second else in this selection"},
		{"active proctype _pid() { skip }", "1:17: _pid already exists and cannot be a process " +
			"type"},
		{"init { goto _last; skip }", "_last already exists and cannot be a label"},
		{"init { np_ }", "1:8: np_ can be asked only in a never claim"},
		{"init { c_code { x = 1; } }", "1:8: c_code: C code in a model is not supported"},
		{"init { c_expr { 1 } }", "1:8: c_expr: C code"},
		{"\nc_decl { int x; } init { skip }", "2:1: c_decl: C code"},
		{"c_track \"x\" \"4\" init { skip }", "1:1: c_track: C code"},
		{"c_state \"int x\" \"Global\" init { skip }", "1:1: c_state: C code"},
	} {
		m, err := syntax.Parse(source.New("m.pml", c.text), nil)
		if err == nil {
			_, err = Resolve(m)
		}
		switch {
		case err == nil:
			t.Errorf("%s: taken", c.text)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		case !strings.Contains(err.Error(), "^") && c.want != "nothing runs":
			t.Errorf("%s: no caret: %v", c.text, err)
		}
	}
}

// TestTaken holds what looks like something that is refused.
func TestTaken(t *testing.T) {
	for _, text := range []string{
		"chan q = [1] of { byte }; init { byte x; x = full(q); x && full(q); full(q) || x == 1; " +
			"(((full(q)))); assert(full(q) && (x || nfull(q))) }",
		"chan q = [1] of { byte }; active proctype A() provided (full(q)) { skip }",
		"chan q = [1] of { byte }; init { q!1 } ltl p { [] !full(q) }",
		"byte x; init { x = ! !x; x = - -x; x = !(!x) }",
		"byte x, y = 2; init { byte b = x, c = x; chan e, f = [1] of { byte }; skip }",
		"typedef T { chan c }; T t; chan q = [1] of { byte }; init { xs t.c; xr q; skip }",
		"byte x; init { x = 1 } never { do :: np_ :: x = 2 od }",
		"mtype:x = { red }; mtype = { blue }; typedef T { mtype:x f }; T t; mtype v; mtype:x w; " +
			"init { v = red; t.f = blue; w = v; w = 3; w == blue }",
		"byte a[3] = { 1, 2 }; byte b[1] = { 3, 4 }; init { skip }",
		"mtype = { m }; mtype a[2] = { m, m }; bool b[3] = { true, false }; init { skip }",
		"chan q = [1] of { byte, byte }; init { byte x; q?(x,_); q?x((_)); q?[(x,_)]; q!(1),(2); " +
			"q!(1)(2) }",
		"chan q = [1] of { bit }; byte x = q; typedef T { byte f }; T t; byte a[3]; init { x = " +
			"q; x = (q); t.f = q + 1; a[q] = a[q] + 1; x = len(q) + q?[1]; assert(q + 1 == 2); " +
			"q!q + 1; for (x : 0 .. q) { skip } }",
		"active proctype A() { W: skip; V: skip; U: skip; T: skip } byte W; inline V() { skip } " +
			"mtype = { U }; typedef T { byte a }",
		"active proctype P() { L: P@L } ltl p { [] !B@L } active proctype B() { L: P[0]@L }",
		"byte x; inline f() { x = 2 } init { skip; A: { x = 1 } unless { x == 5 }; B: atomic { x " +
			"= 1 } unless { x == 5 }; C: f() unless { x == 5 }; D: do :: break od unless { x == " +
			"5 }; E: for (x : 1 .. 2) { skip } unless { x == 5 } }",
		"active proctype Q() { byte z; z = 1 } active proctype P() { byte y; d_step { y = Q:z; " +
			"skip } }",
		"byte x; init { d_step { x = 3; { x = 1 } unless { x == 2 } } }",
		"byte a, b; inline f(a, b) { a = b } init { f(a, b); f(a, 1) }",
		"chan q = [1] of { byte, byte }; byte x; init { q! !x(2); q!x + 1(2) }",
		"mtype:u = { red }; mtype:w = { blue }; mtype:u v; inline s(k) { v = k } init { s(blue) }",
		"mtype = { A, B }; mtype:x v; byte n, k = 2; byte a[n], b[k], c[B + 1 * (2 - 1) / 1 % " +
			"3]; active [A] proctype P() priority B { byte d[k]; _priority++; printm(A); " +
			"printm(v) }",
		"byte x, y; init { select (x : 5 .. -2); select (x : 4 + 1 .. 2); for (x : 5 .. -2) { " +
			"skip }; for (x : 4 + 1 .. 2) { skip }; atomic { do :: break od; d_step { y = 1; y = " +
			"2 } } }",
		"chan c, q = [1] of { byte }; init { c = 1 - 1; c = !1 }",
		"#define A(x, y) (x == y)\nbyte x; init { if :: A(x,\n 1) -> skip :: A(x,\n 2); skip :: " +
			"x >\n 0 -> skip fi }",
		"init { byte a; a = 1; if :: byte b; b = 1 :: b = 2 fi } mtype = { a }",
		"init { byte P; P = 1; run P() } proctype P() { skip }",
		"byte T, f; inline f() { skip } init { f() } ",
		"init { byte f; f = 1 } inline f() { skip }",
		"byte x; inline f() { x = 1 } init { f() } ltl p { [] (y == 0 && m != A) } byte y; mtype " +
			"= { A }; mtype m;",
		"byte U; init { U = 1 } ltl next { X true && next true }",
		"typedef T { byte a -> }; chan q = [1] of { byte; }; mtype = { A, ; } -> ; init { byte " +
			"i; for (i : 0 .. 1) ; { skip } L: -> ; q!!1; i = (i -> -> 1 : 2) }",
		"typedef T {\n byte a\n byte b[2]\n\n short c }; init { byte x\n x = 1 -> \n do\n :: x = " +
			"2\n -> break\n od\n { x = 3 }\n\n unless { x == 4 }\n (x\n == 0\n || x == 1)\n L:\n " +
			"x =\n 1 }",
		"#define A(x, y) x && y\nbyte x; inline f() { skip } init { if :: A(x == 0,\n x == 0) -> " +
			"skip fi; f()\n unless { x == 1 }; timeout\n x = 1 }",
		"proctype P() { skip } init { run\n P\n() }",
		"byte x; ltl p { [] (!x == 1) -> (x -> x == 1) == 1 || -x < ~1 } init { skip }",
		"proctype A(byte a, b;; int c) { skip;; } init { run A(1, 2, 3) }",
	} {
		m, err := syntax.Parse(source.New("m.pml", text), nil)
		if err == nil {
			_, err = Resolve(m)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNoValue: a formula that computes with the value of a formula is refused where it is checked,
// and not before.
func TestNoValue(t *testing.T) {
	for _, tt := range []struct{ formula, want string }{
		{"[] x == 0", "1:17: [] binds more tightly than ==, as in SPIN, and a formula has no " +
			"value to compute with; put the operand in parentheses: [] (... == ...)"},
		{"<> !x >= 2", "<> binds more tightly than >="},
		{"[] (x == 0)", ""},
	} {
		m, err := syntax.Parse(source.New("m.pml", "byte x; ltl p { "+tt.formula+
			" } init { skip }"), nil)
		var p *Program
		if err == nil {
			p, err = Resolve(m)
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.formula, err)
		}
		got := ""
		if p.LTLs[0].Refused != nil {
			got = p.LTLs[0].Refused.Error()
		}
		if !strings.Contains(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: refused with %q, want %q", tt.formula, got, tt.want)
		}
	}
}
