package predicate

import (
	"strings"
	"testing"

	"cpor/detect/computation"

	"pgregory.net/rapid"
)

var hosts = Names{Hosts: []string{"p1", "p2", "q-3"}}

func mustExpand(t testing.TB, text string) *Node {
	t.Helper()
	p, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Expand(hosts)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// values of the variables, as the tests' environment.
type values map[string]computation.Value

func (v values) get(n *Node) computation.Value { return v[n.String()] }

func TestEval(t *testing.T) {
	env := values{
		"p1.x": computation.IntValue(3), "p2.x": computation.IntValue(4),
		`"q-3".x`: computation.FloatValue(4.5),
		"p1.s":    computation.StringValue("abc"), "p2.s": computation.StringValue("p1"),
		"p1.b": computation.BoolValue(true), "p2.b": computation.BoolValue(false),
		"p1.l": computation.ListValue([]computation.Value{computation.IntValue(2),
			computation.IntValue(1)}),
		"p1.r.t": computation.IntValue(7),
	}
	tests := map[string]string{
		"p1.x + p2.x * 2 == 11":                 "true",
		"(p1.x + p2.x) * 2":                     "14",
		"p1.x - p2.x - 1":                       "-2",
		"-p1.x + 1":                             "-2",
		"7 / 2":                                 "3",
		"7 / 2.0":                               "3", // 2.0 is the integer 2
		"7 / 2.5":                               "2.8",
		"-7 % 3":                                "-1",
		"1 / 0":                                 "undefined",
		"1 % 0 == 1":                            "undefined",
		`p1.x < "q-3".x`:                        "true",
		"p1.x < p1.s":                           "undefined",
		"p1.x == p1.s":                          "undefined",
		"p1.x != p1.s":                          "undefined",
		"string(p1.x) + string(p1.s)":           `"3abc"`,
		"string(p1.b) == 'true'":                "true",
		"string(p1.l)":                          `"[2, 1]"`,
		"p1.s < p2.s":                           "true",
		"p1.s + 'd' == 'abcd'":                  "true",
		"p1.s =~ '^a.c$'":                       "true",
		"p1.s !~ 'z'":                           "true",
		"p1.x =~ 'z'":                           "undefined",
		"p1.nothing == 1":                       "undefined",
		"p1.nothing == 1 && p2.b":               "false",
		"p1.nothing == 1 || p1.b":               "true",
		"p1.nothing == 1 || p2.b":               "undefined",
		"!(p1.nothing == 1)":                    "undefined",
		"p1.nothing => p1.b":                    "true",
		"p2.b => p1.nothing":                    "true",
		"p1.b <=> !p2.b":                        "true",
		"p1.nothing <=> true":                   "undefined",
		"defined(p1.nothing)":                   "false",
		"defined(p1.x) and not p2.b":            "true",
		"p1.x in {1, 3}":                        "true",
		"p1.x not in {1..5}":                    "false",
		"not p1.x in {1, 2}":                    "true",
		"p1.l == {1, 2}":                        "true",
		"p1.l == [1, 2]":                        "false",
		"p1.l + [3] == [2, 1, 3]":               "true",
		"{1} subset p1.l":                       "true",
		"len(p1.l) + len(p1.s)":                 "5",
		"union(p1.l, {7}) == {1, 2, 7}":         "true",
		"intersection(p1.l, {1..1})":            "{1}",
		"min(p1.x, p2.x, 9)":                    "3",
		"max(i: i.x)":                           "4.5",
		"min(i in {p1, p2}: i.x + 1)":           "4",
		"abs(p1.x - 10)":                        "7",
		"p1.r.t":                                "7",
		"p2.s == p1":                            "true", // a host's name as a string
		"exists i: p2.s == i":                   "true",
		"count(i: i.x > 3)":                     "2",
		"count(i: i.b)":                         "1",
		"sum(i: i.x)":                           "11.5",
		"sum(i: i.b)":                           "undefined",
		"set(i: i.b) == {true, false}":          "true",
		"len(set(i, j: i.x - j.x))":             "7",
		"forall i: defined(i.x)":                "true",
		"exists i != j: i.x == j.x + 1":         "true",
		"exists i < j: i.x == j.x + 1":          "false",
		"exists i, j: i.x == j.x":               "true",
		"exists i != j: i.x == j.x":             "false",
		"count(i != j: true)":                   "6",
		"count(i < j: true)":                    "3",
		"count(i != j != k: true)":              "6",
		"count(i, j != k: true)":                "18",
		"count(i in ~'^p': true)":               "2",
		"forall i in {q-3}: true":               "error",
		"forall i in {'q-3'}: i.x > 4":          "true",
		"exists i: exists i: i.x == 3":          "true",
		"9223372036854775807 + 1 > 0":           "true",
		"{3..1}":                                "{}",
		"{1..999999}":                           "undefined",
		"forall i in {p1}: true && p2.b || i.b": "true",
	}
	for text, want := range tests {
		p, err := Parse(text)
		if err != nil {
			if want != "error" {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		e := &expander{p: p, names: hosts, index: map[string]int{"p1": 0, "p2": 1, "q-3": 2},
			bound: map[string]int{}, vars: map[string]*Node{}, checked: map[*expr]bool{}}
		n, err := e.expand(p.root)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := n.Eval(env.get).String(); got != want {
			t.Errorf("%s = %s, want %s (expanded %v)", text, got, want, n)
		}
	}
}

func TestMistakes(t *testing.T) {
	known := Names{Hosts: []string{"p1", "p2"}, Variables: func(i int) []string {
		return [][]string{{"crit", "round"}, {"crit"}}[i]
	}}
	tests := map[string]string{
		"":                        "1: expected an expression, found end",
		"p1.crit &&":              "11: expected an expression, found end",
		"p1.crit p2.crit":         "9: unexpected 'p2' after the end",
		"p1.":                     "4: expected the name of a variable after p1., found end",
		"p1.crit $ 1":             "9: unexpected character '$'",
		"p1.crit == \"x":          "12: the string is not closed",
		"'\\q' == p1.crit":        "1: the string has a bad escape",
		"1 < p1.round < 3":        "14: comparisons do not chain",
		"(p1.crit":                "9: expected ')'",
		"forall i i.crit":         "10: expected ':' after the variables",
		"forall i, i: i.crit":     "11: i is bound twice",
		"forall 3: true":          "8: expected a variable for hosts, found '3'",
		"forall i in p1: i.crit":  "13: expected '{'",
		"forall i in ~p1: i.crit": "14: expected a regular expression in quotes",
		"forall i in ~'(': true":  "14: error parsing regexp",
		"p1.crit =~ '('":          "12: error parsing regexp",
		"p1.crit =~ p2.crit":      "12: the pattern of =~ must be a constant string",
		"length(p1.crit) > 0":     "1: unknown function length",
		"lenn(p1.crit) > 0":       "1: unknown function lenn; did you mean len?",
		"len(p1.crit, 2) > 0":     "1: len has 1 arguments, not 2",
		"count(p1.crit) > 1":      "9: expected ':'",
		"p3.crit":                 "1: unknown host p3; did you mean p1?",
		"p1.crot":                 "1: host p1 never assigns a variable crot; did you mean crit?",
		"p2.round > 1":            "1: host p2 never assigns a variable round",
		"forall i: i.rond > 1":    "11: no host assigns a variable rond; did you mean round?",
		"forall i in {p4}: true":  "14: unknown host p4; did you mean p1?",
		"p1.round + 1":            "10: the predicate is a number, not a condition",
		"3":                       "1: the predicate is a number, not a condition",
		"99999999999999999999":    "1: the integer does not fit in 64 bits",
		"{1, 2":                   "6: expected ','",
		strings.Repeat("(", 2000): "1001: the predicate is nested too deeply",
		"count(i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, a, b, c, d, e: i.crit) > 3": "73: the predicate is too large for 2 hosts",
	}
	for text, want := range tests {
		p, err := Parse(text)
		if err == nil {
			_, err = p.Expand(known)
		}
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		if got := strings.TrimPrefix(err.Error(), "predicate:1:"); !strings.HasPrefix(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", text, got, want)
		}
	}
	_, err := Parse("p1.x &&\n\t $")
	if err == nil || !strings.HasPrefix(err.Error(), "predicate:2:3: ") ||
		!strings.HasSuffix(err.Error(), "\n\t\t $\n\t\t ^") {
		t.Errorf("two lines: %q", err)
	}
	// A variable that only some hosts have is not a mistake under a quantifier.
	if p, err := Parse("exists i: i.round > 1"); err != nil {
		t.Error(err)
	} else if _, err := p.Expand(known); err != nil {
		t.Error(err)
	}
}

func TestNormalise(t *testing.T) {
	tests := []struct{ text, want string }{
		{"p1.x && p2.x", "p1.x && p2.x"},
		{"p1.x && p2.x && p1.y > 3", "(p1.x && (p1.y > 3)) && p2.x"},
		{"!(p1.x => p2.x)", "p1.x && !p2.x"},
		{"p1.x || p1.y == 2", "p1.x || (p1.y == 2)"},
		{"p2.a != p1.a", "p1.a != p2.a"},
		{"!(p1.a < p2.a)", "p1.a >= p2.a"},
		{"(p1.a && p2.a) || p2.b", "(p2.a || p2.b) && (p1.a || p2.b)"},
		{"p1.a <=> p2.a", "(!p1.a || p2.a) && (p1.a || !p2.a)"},
		// Agreement of three hosts: a pair is compared once.
		{"forall i != j: i.v == j.v", `(p1.v == p2.v) && ("q-3".v == p1.v) && ("q-3".v == p2.v)`},
		// The invariant I_db of the paper, negated.
		{"!((forall i: !i.chg) => (forall i != j: i.p == j.p))",
			`!p1.chg && !p2.chg && !"q-3".chg && (p1.p != p2.p || "q-3".p != p1.p || "q-3".p != p2.p)`},
		// At most one of three: no two.
		{"count(i: i.c) <= 1",
			`(!istrue(p1.c) || !istrue(p2.c)) && (!istrue(p1.c) || !istrue("q-3".c)) && (!istrue(p2.c) || !istrue("q-3".c))`},
		{"count(i: i.c) >= 2",
			`(istrue(p1.c) || istrue(p2.c)) && (istrue(p1.c) || istrue("q-3".c)) && (istrue(p2.c) || istrue("q-3".c))`},
		{"count(i: i.c) >= 0", "true"},
		{"count(i: i.c) > 3", "false"},
		{"2 > count(i: i.c) && true",
			`(!istrue(p1.c) || !istrue(p2.c)) && (!istrue(p1.c) || !istrue("q-3".c)) && (!istrue(p2.c) || !istrue("q-3".c))`},
		{"p1.x && 1 > 2", "false"},
		{"true", "true"},
	}
	for _, tt := range tests {
		c := Normalise(mustExpand(t, tt.text))
		if c.String() != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.text, c, tt.want)
		}
	}
	parts := Disjuncts(mustExpand(t, "exists i < j: i.crit && j.crit"))
	if len(parts) != 3 || parts[0].String() != "p1.crit && p2.crit" || !parts[0].IsLocal() {
		t.Errorf("parts %v", parts)
	}
	if parts := Disjuncts(mustExpand(t, "p1.x || p2.x || p1.a != p2.a")); len(parts) != 2 ||
		parts[0].String() != "(p1.x || p2.x)" {
		t.Errorf("parts %v", parts)
	}
}

// drawExpr draws the text of a boolean expression.
func drawExpr(t *rapid.T, depth int) string {
	v := func() string {
		return rapid.SampledFrom([]string{"p1", "p2", "'q-3'"}).Draw(t, "host") + "." +
			rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "var")
	}
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0, 1:
			return v()
		case 2:
			return v() + rapid.SampledFrom([]string{" == ", " != ", " < ", " >= "}).Draw(t,
				"op") + v()
		case 3:
			return "count(i: i.a)" + rapid.SampledFrom([]string{" == ", " != ", " < ",
				" >= "}).Draw(t, "op") + rapid.SampledFrom([]string{"0", "1", "2", "3"}).Draw(t,
				"k")
		}
		return "count(i: i.a && p1.b)" + rapid.SampledFrom([]string{" <= ", " > "}).Draw(t, "op") +
			"1"
	}
	sub := func() string { return "(" + drawExpr(t, depth-1) + ")" }
	switch rapid.IntRange(0, 5).Draw(t, "connective") {
	case 0:
		return "!" + sub()
	case 1, 2:
		return sub() + " && " + sub()
	case 3:
		return sub() + " => " + sub()
	case 4:
		return sub() + " <=> " + sub()
	}
	return sub() + " || " + sub()
}

// TestNormalFormMeansTheSame: a predicate is true exactly where all clauses of
// its conjunction have a true literal, and where one of its disjuncts is.
func TestNormalFormMeansTheSame(t *testing.T) {
	holds := func(c *Conjunction, env values) bool {
		for _, cl := range c.Clauses {
			ok := false
			for _, l := range cl.Local {
				ok = ok || l.Eval(env.get).IsTrue()
			}
			for _, l := range cl.Joint {
				ok = ok || l.Eval(env.get).IsTrue()
			}
			if !ok {
				return false
			}
		}
		return true
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := drawExpr(rt, 4)
		n := mustExpand(t, text)
		conj, parts := Normalise(n), Disjuncts(n)
		for range 20 {
			env := values{}
			for _, h := range []string{"p1", "p2", `"q-3"`} {
				for _, v := range []string{"a", "b", "c"} {
					env[h+"."+v] = rapid.SampledFrom([]computation.Value{
						{}, computation.BoolValue(true), computation.BoolValue(false),
						computation.IntValue(1)}).Draw(rt, "value")
				}
			}
			want := n.Eval(env.get).IsTrue()
			if got := holds(conj, env); got != want {
				rt.Fatalf("%s with %v is %v, but its normal form\n%v\nis %v", text, env, want, conj,
					got)
			}
			some := false
			for _, part := range parts {
				some = some || holds(part, env)
			}
			if some != want {
				rt.Fatalf("%s with %v is %v, but its disjuncts\n%v\nare %v", text, env, want, parts,
					some)
			}
		}
	})
}

// TestTextIsReadBack: what a Node prints means what the Node means.
func TestTextIsReadBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := mustExpand(t, drawExpr(rt, 4))
		if strings.Contains(n.String(), "istrue") || strings.Contains(n.String(), "count(") {
			return // printed in a form of its own
		}
		again := mustExpand(t, n.String())
		if again.String() != n.String() {
			rt.Fatalf("%s is read as %s", n, again)
		}
	})
}

func TestHosts(t *testing.T) {
	for text, want := range map[string]struct {
		hosts string
		all   bool
	}{
		"p1.x && 'q-3'.y":               {"p1 q-3", false},
		"forall i in {p1, p2}: i.x > 0": {"p1 p2", false},
		"exists i: i.x == p2":           {"p2", true},
		"count(i in ~'p': i.x) > 1":     {"", true},
	} {
		p, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.Hosts(), " "); got != want.hosts || p.UsesAllHosts() != want.all {
			t.Errorf("%s: hosts %s, all %v", text, got, p.UsesAllHosts())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"forall i != j: !(i.primary && j.primary)",
		"count(i: i.x) <= 1 || p1.s in {\"a\", 'b'}", "max(i: i.x) - 3.5 > {1..2}",
		"a.\"b c\".d =~ 'x'", "((", "1e9.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			_ = err.Error()
			return
		}
		n, err := p.Expand(hosts)
		if err != nil {
			_ = err.Error()
			return
		}
		if len(n.String()) > 10_000 {
			return
		}
		get := func(*Node) computation.Value { return computation.Value{} }
		want := n.Eval(get).IsTrue()
		got := true
		for _, cl := range Normalise(n).Clauses {
			some := false
			for _, l := range cl.Local {
				some = some || l.Eval(get).IsTrue()
			}
			for _, l := range cl.Joint {
				some = some || l.Eval(get).IsTrue()
			}
			got = got && some
		}
		if got != want {
			t.Fatalf("%q is %v with nothing defined, its normal form %v", text, want, got)
		}
	})
}
