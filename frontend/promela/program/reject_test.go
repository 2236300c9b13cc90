package program

import (
	"strings"
	"testing"

	"cpor/frontend/model/source"
	"cpor/frontend/promela/syntax"
)

// TestRejected holds what SPIN 6.5.2 rejects, and embedded C: each is refused with its
// place and a message.
func TestRejected(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"byte m; active proctype A() { byte m; m = 1 }", "1:36: redeclaration of m; it is a global variable, declared in line 1"},
		{"byte m; proctype A(byte m) { m = 1 } init { run A(1) }", "1:25: redeclaration of m"},
		{"active proctype A() { byte x; { byte x; x = 1 }; x = 2 }", "redeclaration of x; it was declared in line 1"},
		{"byte total; active proctype A() { totl = 1 }", "1:35: undeclared variable: totl; did you mean total?"},
		{"active proctype A() { goto done; don: skip }", "1:28: there is no label done in A; did you mean don?"},
		{"active proctype A() { L: skip; L: skip }", "label L is defined again"},
		{"active proctype A() { break }", "break stands in no loop"},
		{"active proctype A() { byte x; if :: x = 1 fi; od }", "found"},
		{"active proctype A() { do :: skip }", "where od should end this do"},
		{"active proctype A() { byte x x = 1 }", "found \"x\""},
		{"active proctype A() { atomic { L: skip } }", "1:32: a label cannot stand before the first statement of atomic"},
		{"active proctype A() { d_step { L: skip } }", "a label cannot stand before the first statement of d_step"},
		{"active proctype A() { { L: skip } }", "a label cannot stand before"},
		{"init { { skip } unless { L: skip } }", "a label cannot stand before"},
		{"inline f() { L: skip } init { f() }", "a label cannot stand before the first statement of the inline f"},
		{"active proctype A() { d_step { run A() } }", "run cannot stand in a d_step"},
		{"active proctype A() { d_step { goto L }; L: skip }", "a goto cannot lead into a d_step or out of one"},
		{"active proctype A() { goto L; d_step { skip; L: skip } }", "a goto cannot lead into a d_step or out of one"},
		{"init { do :: d_step { break } od }", "break stands in no loop"},
		{"proctype Adder() { skip } init { run Ader() }", "there is no process type Ader; did you mean Adder?"},
		{"proctype A(byte x) { skip } init { run A() }", "A has 1 parameters, and here 0 arguments"},
		{"proctype A() { skip } init { run A(1) }", "A has 0 parameters, and here 1 arguments"},
		{"proctype A() { skip } proctype A() { skip } init { run A() }", "A is declared again"},
		{"byte x; byte x; init { x = 1 }", "x is declared again"},
		{"mtype = { a, a }; init { skip }", "declared twice"},
		{"mtype = { a }; byte a; init { a = 1 }", "a is a symbolic constant"},
		{"chan q = [1] of { byte }; init { q!1,2 }", "this send has 2 fields, and no channel of the model has messages of more than 1"},
		{"chan q = [1] of { byte, byte }; init { byte x; q?x,x }", "1:52: x takes two fields of this message"},
		{"byte q; init { q!1 }", "q is no channel"},
		{"byte x; init { x[3] = 1 }", "x is no array"},
		{"byte x[0]; init { skip }", "array x has length 0"},
		{"typedef T { byte al }; T t; init { t.a = 1 }", "T has no field a"},
		{"typedef T { byte a }; typedef T { byte b }; init { skip }", "typedef T is declared twice"},
		{"proctype A() { skip }", "nothing runs"},
		{"init { byte x; select (x : 5 .. 2) }", "chooses from nothing"},
		{"ltl p { [] } byte x; init { skip }", "1:12:"},
		{"ltl p { [] (x == 1 } byte x; init { skip }", "1:20:"},
		{"ltl p { true } ltl p { true } init { skip }", "a second property with the name p"},
		{"never a { skip } never a { skip } init { skip }", "a second never claim with the name a"},
		{"init { assert }", "1:15:"},
		{"chan q = [1] of { bit }; byte x; init { x = q + 1 }", "1:45: q is a channel, whose number cannot be a part of what is assigned; len(q) is"},
		{"chan q = [1] of { bit }; byte x; init { x = !q }", "q is a channel, whose number"},
		{"chan q = [1] of { bit }; byte x; init { x = (q -> 1 : 2) }", "q is a channel, whose number"},
		{"chan q[2] = [1] of { bit }; byte x; init { x = (1 + q[0]) * 2 }", "q is a channel, whose number"},
		{"chan q = [1] of { bit }; byte x = q + 1; init { skip }", "q is a channel, whose number"},
		{"chan q = [1] of { bit }; byte x; byte a[3]; init { x = a[q + 1] }", "q is a channel, whose number"},
		{"chan q = [1] of { bit }; byte x; init { x = enabled(q) }", "q is a channel, whose number"},
		{"chan c = [1] of { bit }; proctype P(chan q) { q++ } init { run P(c) }", "q is a channel, whose number"},
		{"init { printf(\"a\" \"b\") }", "1:19: a second string; they are not joined in Promela, write one"},
		{"mtype = { W }; init { skip; W: skip }", "1:29: W is a symbolic constant and cannot be a label, too"},
		{"mtype:m = { V, W }; init { skip; W: skip }", "W is a symbolic constant"},
		{"inline W() { skip } init { skip; W: skip }", "W is an inline and cannot be a label, too"},
		{"typedef W { byte a }; init { skip; W: skip }", "W is a type and cannot be a label, too"},
		{"active proctype A() { P@L } active proctype P() { L: skip }", "1:23: P is declared only below"},
		{"active proctype A() { P[1]:x == 1 } active proctype P() { byte x; x = 1 }", "1:23: P is declared only below"},
		{"never { P@L } active proctype P() { L: skip }", "1:9: P is declared only below"},
		{"init { printf(x) }", "printf wants a format in quotes"},
		{"init { byte x; x = 1 + ; }", "1:24: found \";\" where an expression should be"},
		{"init { unsigned x; x = 1 }", "unsigned x wants its width"},
		{"unsigned x : 32; init { x = 1 }", "the width of an unsigned is a number from 1 to 31"},
		{"init { int x : 3; x = 1 }", "only an unsigned has a width"},
		{"byte a[2]; init { a = 1 }", "1:19: a is an array, which wants an index here: a[0] is its first element"},
		{"typedef T { byte a }; T t[2]; init { t.a = 1 }", "1:38: t is an array, which wants an index"},
		{"typedef T { byte a[2] }; T t; init { assert(t.a == 0) }", "1:47: a is an array"},
		{"chan q[2] = [1] of { bit }; init { q!1 }", "1:36: q is an array"},
		{"chan q[2] = [1] of { bit }; proctype P(chan c) { c!1 } init { run P(q) }", "q is an array"},
		{"byte a[2]; init { skip } ltl p { [] (a == 0) }", "1:38: a is an array"},
		{"inline f(s) { s } byte x; init { f(x = 1) }", "1:38: found \"=\" behind an argument of inline f; arguments are expressions, and a #define takes statements, too"},
		{"inline f(s) { if :: s fi } init { f(else) }", "1:37: found \"else\" where an expression should be"},
		{"inline f(s) { printf(s) } init { f(\"abc\") }", "1:36: found a string where an expression should be"},
		{"inline f(a b) { a = b } byte x; init { f(x, 1) }", "1:12: found \"b\" where the list of parameters wants \",\""},
		{"proctype P() provided (1) priority 2 { skip } init { run P() }", "1:27: priority stands before provided"},
		{"typedef T { byte a; unsigned u : 3 }; chan q = [1] of { byte, T }; init { skip }", "the messages of channel q cannot have the unsigned u in T"},
		{"typedef U { byte a }; typedef T { U u[2] }; chan q = [1] of { T }; init { skip }", "the messages of channel q cannot have the array of structures u in T"},
		{"typedef T { byte a[2] }; proctype P(T x) { skip } init { T t; run P(t) }", "the parameter x has an array, a, which cannot be handed over"},
		{"typedef T { byte a; byte b }; proctype P(T x; byte y) { skip } init { T t; run P(t) }", "P has 3 parameters, and here 2 arguments, the fields of structures counted"},
		{"active proctype P() { skip } ltl P { true; }", "1:34: P is a process type and cannot be a property, too"},
		{"chan c; init { c = 0 }", "a number cannot be assigned to the channel c; another channel can"},
		{"chan c; init { c!1 }", "no channel of the model has messages of more than 0"},
		{"chan c = [40000] of { bit }; init { c!1 }", "the capacity of channel c has to be a constant from 0 to 32767"},
		{"chan c = [1] of { bit, }; init { c!1 }", "1:24: found \"}\""},
		{"typedef T { hidden byte a }; T t; init { skip }", "1:13: only a global variable can be hidden, not a field"},
		{"proctype P(hidden byte a) { skip } init { run P(1) }", "1:12: only a global variable can be hidden, not a parameter"},
		{"typedef T { }; init { skip }", "typedef T has no fields"},
		{"mtype = { }; init { skip }", "this mtype has no symbolic constants"},
		{"inline f(a) { a = 1 } init { byte x; f(x, x) }", "inline f has 1 parameters, and here 2 arguments"},
		{"inline f(a) { f(a) } init { byte x; f(x) }", "inline f calls itself"},
		{"active [-1] proctype A() { skip }", "-1 active processes"},
		{"#include \"nothing.h\"\ninit { skip }", "1:10: nothing.h"},
		{"#if 1\ninit { skip }", "this #if has no #endif"},
		{"#define f(a) a\ninit { byte x; x = f(1, 2) }", "macro f has 1 parameters, and here 2 arguments"},
		{"proctype A() { Lab: skip } init { A[0]@Lb }", "A has no label Lb; did you mean Lab?"},
		{"chan q = [1] of { }; init { skip }", "the messages of channel q have no fields"},
		{"chan q = [1] of { foo }; init { skip }", "foo is no type"},
		{"init { byte s; do :: break od; d_step { s = 1 } }", "1:22: this jump leads to the d_step in line 1, which SPIN refuses"},
		{"init { byte s; L: d_step { s = 1 }; goto L }", "this jump leads to the d_step"},
		{"init { byte s; if :: goto L :: s = 2 fi; s = 1; L: d_step { s = 1 } }", "this jump leads to the d_step"},
		{"byte p[3]; init { p[p[0]] = 1 }", "p is indexed with one of its own elements"},
		{"typedef T { byte a[2] }; T t; init { t.a[t.a[0] + 1]++ }", "t.a is indexed with one of its own elements"},
		{"byte p[3]; init { for (p[1] : 0 .. 2) { skip } }", "for needs a plain variable"},
		{"byte p[3]; init { select (p[1] : 0 .. 2) }", "select needs a plain variable"},
		{"proctype A() { skip } init { if :: run A() == 1 -> skip fi }", "run is a part of a condition"},
		{"proctype A(byte k) { skip } init { run A(run A(1)) }", "run is a part of a condition"},
		{"proctype A() { skip } chan q = [1] of { byte }; init { q!run A() }", "run cannot stand in a send"},
		{"chan q = [1] of { byte }; init { byte x; for (x in q) { skip } }", "for wants an array after in, or a channel"},
		{"typedef T { byte a }; T v; chan q = [1] of { T, byte }; init { for (v in q) { skip } }", "for needs a variable here of the type"},
		{"init { byte _pid; skip }", "_pid is there already"},
		{"byte L; init { L: skip }", "L is a variable and cannot be a label, too"},
		{"init { 'ab' }", "1:8:"},
		{"init { @ }", "1:8:"},
		{"init { byte x; if fi }", "where the first option"},
		{"init { d_step { do :: goto L; L: goto M; M: goto L od } }", "1:8: this jumps in circles"},
		{"init { d_step { do :: x = 1 - x od } }", "1:23: undeclared variable: x"},
		{"init { L: goto L }", "this goto goes round in circles"},
		{"chan q = [1] of { byte }; init { byte x; x = full(q) + 1 }", "1:46: full cannot be a part of this expression, as in SPIN, only a condition or a side of && and ||; its negation is nfull(q)"},
		{"chan q = [1] of { byte }; init { !empty(q) }", "its negation is nempty(q)"},
		{"chan q = [1] of { byte }; init { byte x; !(x && full(q)) }", "full cannot be a part"},
		{"chan q = [1] of { byte }; init { q!empty(q) }", "empty cannot be a part"},
		{"chan q = [1] of { byte }; init { byte x; x = (full(q) -> 1 : 2) }", "full cannot be a part"},
		{"init { byte a; a = !!a }", "1:20: !! is a sorted send; a double negation is written ! !"},
		{"init { byte x = 1, y = x; skip }", "1:24: x is declared in the same declaration, and known only behind it"},
		{"byte x = 1, y = x; init { skip }", "1:17: x is declared in the same declaration"},
		{"chan a = [1] of { byte }, b = [1] of { byte }; init { skip }", "1:25: nothing can follow the { ... } of a in its declaration"},
		{"byte a[2] = { 1, 2 }, b; init { skip }", "nothing can follow the { ... } of a"},
		{"chan q[2] = [1] of { byte }; init { xr q[1]; skip }", "1:40: xr and xs are about a channel"},
		{"chan q[2] = [1] of { byte }; init { xs q; skip }", "1:40: xr and xs are about a channel"},
		{"byte a = { 1 }; init { skip }", "1:6: a is no array"},
		{"byte a[2] = { }; init { skip }", "1:15: found \"}\" where a list of values wants a constant"},
		{"byte a[2] = { 1 2 }; init { skip }", "1:17: found \"2\" where a \",\""},
		{"byte a[2] = { 1, -2 }; init { skip }", "1:18: found \"-\" where a list of values wants a constant"},
		{"byte a[2] = { 1 + 1, 2 }; init { skip }", "1:17: found \"+\""},
		{"byte b = 1; byte a[2] = { 1, b }; init { skip }", "1:30: a list of values has constants only"},
		{"proctype A() { skip } init { byte x = run A(); skip }", "1:35: run cannot stand in the initialiser of x"},
		{"proctype A() { skip } init { skip; { pid x = 1 + run A(); skip } }", "run cannot stand in the initialiser of x"},
		{"active proctype A() { }", "1:23: there is no statement between these braces; write skip"},
		{"init { atomic { }; skip }", "there is no statement between these braces"},
		{"init { byte i; for (i : 1 .. 2) { } }", "there is no statement between these braces"},
		{"never { } init { skip }", "there is no statement between these braces"},
		{"init { ; skip }", "1:8: there is no statement before this \";\""},
		{"init { if :: -> skip fi }", "1:14: there is no statement before this \"->\""},
		{"proctype A(byte a;) { skip } init { run A(1) }", "1:18: nothing stands on one side of this \";\""},
		{"proctype A(; byte a) { skip } init { run A(1) }", "1:12: nothing stands on one side of this \";\""},
		{"proctype A(byte a, int b) { skip } init { run A(1, 2) }", "1:18: parameters of several types are separated by \";\""},
		{"chan q = [1] of { byte, byte }; init { byte x; q?x(x x) }", "where a receive wants \")\""},
		{"mtype:x = { red }; mtype:y = { blue }; mtype:x v; init { v = blue }", "1:62: v is of type mtype:x, and blue is a constant of mtype:y"},
		{"mtype:x = { red }; mtype = { blue }; mtype:x v = blue; init { skip }", "v is of type mtype:x, and blue is a constant of mtype"},
		{"mtype:x = { red }; mtype = { blue }; mtype:x v[2]; init { v[1] = (blue) }", "v is of type mtype:x, and blue is a constant of mtype"},
		{"mtype:x = { red }; mtype = { blue }; proctype A(mtype v) { skip } init { run A(red) }", "v is of type mtype, and red is a constant of mtype:x"},
		{"inline f(a) { return a } init { f(1) }", "1:15: return gives the value of an inline"},
		{"init { return 1 }", "1:8: return gives the value of an inline"},
		{"inline f(a) { return a } byte x; init { x = f(1) + 2 }", "1:50: found \"+\" where"},
		{"inline f(a) { return a } byte x; init { x = (f(1)) }", "1:47: found \"(\""},
		{"inline f(a) { return } byte x; init { x = f(1) }", "1:22: found \"}\" where an expression should be"},
		{"inline f() { } init { skip; f() }", "there is no statement between these braces"},
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
		"chan q = [1] of { byte }; init { byte x; x = full(q); x && full(q); full(q) || x == 1; (((full(q)))); assert(full(q) && (x || nfull(q))) }",
		"chan q = [1] of { byte }; active proctype A() provided (full(q)) { skip }",
		"chan q = [1] of { byte }; init { q!1 } ltl p { [] !full(q) }",
		"byte x; init { x = ! !x; x = - -x; x = !(!x) }",
		"byte x, y = 2; init { byte b = x, c = x; chan e, f = [1] of { byte }; skip }",
		"typedef T { chan c }; T t; chan q = [1] of { byte }; init { xs t.c; xr q; skip }",
		"byte x; init { x = 1 } never { do :: np_ :: x = 2 od }",
		"mtype:x = { red }; mtype = { blue }; typedef T { mtype:x f }; T t; mtype v; mtype:x w; init { v = red; t.f = blue; w = v; w = 3; w == blue }",
		"byte a[3] = { 1, 2 }; byte b[1] = { 3, 4 }; init { skip }",
		"mtype = { m }; mtype a[2] = { m, m }; bool b[3] = { true, false }; init { skip }",
		"chan q = [1] of { byte, byte }; init { byte x; q?(x,_); q?x((_)); q?[(x,_)]; q!(1),(2); q!(1)(2) }",
		"chan q = [1] of { bit }; byte x = q; typedef T { byte f }; T t; byte a[3]; init { x = q; x = (q); t.f = q + 1; a[q] = a[q] + 1; x = len(q) + q?[1]; assert(q + 1 == 2); q!q + 1; for (x : 0 .. q) { skip } }",
		"active proctype A() { W: skip; V: skip; U: skip; T: skip } byte W; inline V() { skip } mtype = { U }; typedef T { byte a }",
		"active proctype P() { L: P@L } ltl p { [] !B@L } active proctype B() { L: P[0]@L }",
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
