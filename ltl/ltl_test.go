package ltl_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"pgregory.net/rapid"

	. "cpor/ltl"
	"cpor/testkit/ltltest"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files")
)

// formulas generates formulas of at most the given depth, over the atoms a, b, c.
func formulas(depth int) *rapid.Generator[Formula] {
	return rapid.Custom(func(t *rapid.T) Formula { return drawFormula(t, depth) })
}

func drawFormula(t *rapid.T, depth int) Formula {
	if depth == 0 {
		return rapid.SampledFrom([]Formula{
			Atom("a"), Atom("b"), Atom("c"), Not(Atom("a")), Not(Atom("b")), True(), False(),
		}).Draw(t, "leaf")
	}
	sub := func() Formula { return drawFormula(t, rapid.IntRange(0, depth-1).Draw(t, "depth")) }
	switch op := Op(rapid.IntRange(int(OpNot), int(OpStrongRelease)).Draw(t, "op")); op {
	case OpNot, OpNext, OpEventually, OpAlways:
		return Build(op, []Formula{sub()})
	default:
		return Build(op, []Formula{sub(), sub()})
	}
}

func lassos() *rapid.Generator[Lasso] {
	return rapid.Custom(func(t *rapid.T) Lasso {
		letter := rapid.Uint64Range(0, 7)
		return Lasso{
			Atoms: []string{"a", "b", "c"},
			Stem:  rapid.SliceOfN(letter, 0, 4).Draw(t, "stem"),
			Loop:  rapid.SliceOfN(letter, 1, 4).Draw(t, "loop"),
		}
	})
}

func randomLasso(r *rand.Rand) Lasso {
	w := Lasso{Atoms: []string{"a", "b", "c"}, Stem: make([]uint64, r.IntN(5)),
		Loop: make([]uint64, 1+r.IntN(4))}
	for _, part := range [][]uint64{w.Stem, w.Loop} {
		for i := range part {
			part[i] = r.Uint64N(8)
		}
	}
	return w
}

func holds(t testing.TB, f Formula, w Lasso) bool {
	t.Helper()
	v, err := f.Holds(w)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPrint(t *testing.T) {
	a, b, c, d := Atom("a"), Atom("b"), Atom("c"), Atom("d")
	for _, x := range []struct {
		f    Formula
		want string
	}{
		{True(), "true"},
		{False(), "false"},
		{a, "a"},
		{Not(Not(a)), "a"},
		{Or(And(a, b), c), "c || a && b"},
		{And(a, Or(b, c)), "a && (b || c)"},
		{And(a, Not(b), Until(d, c)), "a && !b && (d U c)"},
		{Implies(a, Implies(b, c)), "a -> (b -> c)"},
		{Iff(a, Implies(b, c)), "a <-> (b -> c)"},
		{And(Until(a, b), c), "c && (a U b)"},
		{Until(a, Until(b, c)), "a U (b U c)"},
		{Until(Until(a, b), c), "(a U b) U c"},
		{Until(a, Release(b, WeakUntil(c, StrongRelease(d, Atom("e"))))),
			"a U (b R (c W (d M e)))"},
		{Always(Eventually(a)), "[]<>a"},
		{Not(Always(a)), "![]a"},
		{Next(Next(a)), "X X a"},
		{Always(Implies(a, Eventually(b))), "[](a -> <>b)"},
		{Implies(Always(a), b), "[]a -> b"},
		{Atom("GFp"), "GFp"},
		{Until(Atom("x > 3"), Atom("U")), `"x > 3" U "U"`},
		{Atom("Worker@enter.x"), `Worker@enter.x`},
		{And(a, Not(a)), "false"},
		{Or(a, Not(a)), "true"},
		{Until(True(), a), "<>a"},
		{Release(False(), a), "[]a"},
		{WeakUntil(a, False()), "[]a"},
		{StrongRelease(a, True()), "<>a"},
		{And(a, True(), a), "a"},
		{And(Implies(Always(a), b), Not(Implies(Always(a), b))), "false"},
		{Implies(Atom("äpfel"), Atom("世")), "äpfel -> 世"},
	} {
		if got := x.f.String(); got != x.want {
			t.Errorf("printed %s, want %s", got, x.want)
		}
	}
}

func TestZeroFormula(t *testing.T) {
	var zero Formula
	if zero.String() != "false" || zero.Op() != OpFalse || Not(zero) != True() ||
		zero.Size() != 1 ||
		And(zero, Atom("a")).String() != "false" || Or(zero, Atom("a")) != Atom("a") ||
		zero.Simplify().String() != "false" {
		t.Error("the zero Formula is not false")
	}
}

// What is printed means what was printed. SPIN's syntax has no M.
func TestPrintReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := formulas(5).Draw(t, "f")
		if strings.Contains(f.String(), " M ") {
			return
		}
		g, err := ltltest.Parse(f.String())
		if err != nil || g != f {
			t.Fatalf("%s reads as %s, %v", f, g, err)
		}
	})
}

func TestHolds(t *testing.T) {
	const a, b = 1, 2
	for _, c := range []struct {
		f          string
		stem, loop []uint64
		want       bool
	}{
		{"a", []uint64{a}, []uint64{0}, true},
		{"a", nil, []uint64{0}, false},
		{"X a", nil, []uint64{0, a}, true},
		{"X X a", nil, []uint64{0, a}, false},
		{"[]<>a", []uint64{0, 0}, []uint64{0, a}, true},
		{"<>[]a", []uint64{0, 0}, []uint64{0, a}, false},
		{"<>[]a", []uint64{0, 0}, []uint64{a}, true},
		{"a U b", []uint64{a, a}, []uint64{b, 0}, true},
		{"a U b", []uint64{a, 0}, []uint64{b}, false},
		{"a U b", nil, []uint64{a}, false},
		{"a W b", nil, []uint64{a}, true},
		{"a W b", nil, []uint64{a, a, 0, b}, false},
		{"a R b", nil, []uint64{b}, true},
		{"a R b", []uint64{b, a}, []uint64{0}, false},
		{"a R b", []uint64{b, a | b}, []uint64{0}, true},
		{"a <-> b", nil, []uint64{0}, true},
		{"a -> b", nil, []uint64{a}, false},
		{"[](a -> <>b)", []uint64{a}, []uint64{0, a, b}, true},
	} {
		if got := holds(t, ltltest.MustParse(t, c.f), Lasso{[]string{"a", "b"}, c.stem,
			c.loop}); got != c.want {
			t.Errorf("%s on %v %v: %v", c.f, c.stem, c.loop, got)
		}
	}
	strong := StrongRelease(Atom("a"), Atom("b"))
	if holds(t, strong, Lasso{[]string{"a", "b"}, nil, []uint64{b}}) ||
		!holds(t, strong, Lasso{[]string{"a", "b"}, []uint64{b, a | b}, []uint64{0}}) {
		t.Errorf("%s", strong)
	}
}

func TestHoldsErrors(t *testing.T) {
	f := Atom("a")
	if _, err := f.Holds(Lasso{Atoms: []string{"a"}, Stem: []uint64{1}}); !errors.Is(err,
		ErrNoLoop) {
		t.Errorf("no loop: %v", err)
	}
	for _, w := range []Lasso{
		{Atoms: []string{"b"}, Loop: []uint64{1}},
		{Atoms: []string{"a", "a"}, Loop: []uint64{1}},
		{Atoms: make([]string, 65), Loop: []uint64{1}},
	} {
		if _, err := f.Holds(w); err == nil {
			t.Errorf("%v: no error", w.Atoms)
		}
	}
}

// The semantics of each operator by the recursive definition on the unrolled
// word, against Holds: an independent reading of the same page.
func TestHoldsAgainstUnrolling(t *testing.T) {
	var at func(f Formula, w Lasso, i int) bool
	letter := func(w Lasso, i int) uint64 {
		if i < len(w.Stem) {
			return w.Stem[i]
		}
		return w.Loop[(i-len(w.Stem))%len(w.Loop)]
	}
	at = func(f Formula, w Lasso, i int) bool {
		if i >= len(w.Stem)+len(w.Loop) {
			i -= len(w.Loop)
		}
		horizon := i + len(w.Stem) + 2*len(w.Loop)
		ops := f.Operands()
		until := func(l, r Formula) bool {
			for j := i; j <= horizon; j++ {
				if at(r, w, j) {
					return true
				}
				if !at(l, w, j) {
					return false
				}
			}
			return false
		}
		switch f.Op() {
		case OpTrue:
			return true
		case OpAtom:
			return letter(w, i)>>(f.Name()[0]-'a')&1 == 1
		case OpNot:
			return !at(ops[0], w, i)
		case OpAnd:
			for _, g := range ops {
				if !at(g, w, i) {
					return false
				}
			}
			return true
		case OpOr:
			for _, g := range ops {
				if at(g, w, i) {
					return true
				}
			}
		case OpImplies:
			return !at(ops[0], w, i) || at(ops[1], w, i)
		case OpIff:
			return at(ops[0], w, i) == at(ops[1], w, i)
		case OpNext:
			return at(ops[0], w, i+1)
		case OpEventually:
			return until(True(), ops[0])
		case OpAlways:
			return !until(True(), Not(ops[0]))
		case OpUntil:
			return until(ops[0], ops[1])
		case OpRelease:
			return !until(Not(ops[0]), Not(ops[1]))
		case OpWeakUntil:
			return until(ops[0], ops[1]) || !until(True(), Not(ops[0]))
		case OpStrongRelease:
			return until(ops[1], And(ops[0], ops[1]))
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		f, w := formulas(3).Draw(t, "f"), lassos().Draw(t, "w")
		got, err := f.Holds(w)
		if err != nil {
			t.Fatal(err)
		}
		if want := at(f, w, 0); got != want {
			t.Fatalf("%s on %v: %v, want %v", f, w, got, want)
		}
	})
}

// Simplification and normal form keep the meaning, the classes are true, and
// implication by syntax is implication.
func TestRewritingKeepsMeaning(t *testing.T) {
	s := NewSimplifier()
	checks, drawn := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		f, g := formulas(5).Draw(t, "f"), formulas(3).Draw(t, "g")
		if drawn++; drawn%1000 == 0 {
			s = NewSimplifier() // what it remembers grows
		}
		simple, normal := s.Simplify(f), f.NNF()
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		implied := s.Implies(f, g)
		for range 20 {
			w := randomLasso(r)
			v, _ := f.Holds(w)
			vs, _ := simple.Holds(w)
			vn, _ := normal.Holds(w)
			if v != vs || v != vn {
				t.Fatalf("%s is %v on %v, simplified %s %v, NNF %s %v", f, v, w, simple, vs, normal,
					vn)
			}
			if vg, _ := g.Holds(w); implied && v && !vg {
				t.Fatalf("%s => %s is claimed, but not on %v", f, g, w)
			}
			if f.Is(Eventual) {
				if vf, _ := Eventually(f).Holds(w); vf != v {
					t.Fatalf("%s is not an eventual formula", f)
				}
			}
			if f.Is(Universal) {
				if vg, _ := Always(f).Holds(w); vg != v {
					t.Fatalf("%s is not a universal formula", f)
				}
			}
			checks++
		}
		for _, g := range []Formula{simple, normal} {
			if g.Is(NextFree) != true && f.StutterInvariant() {
				t.Fatalf("%s got an X: %s", f, g)
			}
			if g.NNF() != g {
				t.Fatalf("%s is not in negation normal form", g)
			}
		}
		if again := s.Simplify(simple); again != simple {
			t.Fatalf("%s simplifies to %s and that to %s", f, simple, again)
		}
	})
	t.Logf("%d words", checks)
}

// Each pair of small formulas: every syntactic implication has to hold on all short lassos.
func TestImplicationExhaustively(t *testing.T) {
	a, b := Atom("a"), Atom("b")
	level := []Formula{a, b, Not(a), Not(b)}
	next := append([]Formula(nil), level...)
	for _, f := range level {
		for op := OpNext; op <= OpAlways; op++ {
			next = append(next, Build(op, []Formula{f}))
		}
		for _, g := range level {
			for _, op := range []Op{OpAnd, OpOr, OpUntil, OpRelease, OpWeakUntil, OpStrongRelease} {
				next = append(next, Build(op, []Formula{f, g}))
			}
		}
	}
	for _, f := range append([]Formula(nil), next...) {
		next = append(next, Eventually(f), Always(f), Until(a, f), Release(a, f), Until(f, b),
			Release(f, b))
	}
	// The truth table of a formula over these words is its fingerprint.
	var all []Lasso
	for stem := range 16 {
		for loop := range 16 {
			s, l := uint64(stem), uint64(loop)
			all = append(all, Lasso{[]string{"a", "b"}, []uint64{s & 3, s >> 2},
				[]uint64{l & 3, l >> 2}})
		}
	}
	if !sample.Long() {
		all = all[:128]
	}
	tables := map[Formula][]bool{}
	var list []Formula
	for _, f := range next {
		if _, ok := tables[f]; ok {
			continue
		}
		var v []bool
		for _, w := range all {
			v = append(v, holds(t, f, w))
		}
		tables[f] = v
		list = append(list, f)
	}
	s := NewSimplifier()
	known := 0
	for _, f := range list {
		for _, g := range list {
			if !s.Implies(f, g) {
				continue
			}
			known++
			for i := range all {
				if tables[f][i] && !tables[g][i] {
					t.Fatalf("%s => %s is claimed, but not on %v", f, g, all[i])
				}
			}
		}
	}
	t.Logf("%d formulas, %d implications known", len(list), known)
	if known < 10*len(list) {
		t.Errorf("only %d implications known among %d formulas", known, len(list))
	}
}

func TestPolarities(t *testing.T) {
	for _, c := range []struct{ f, a, b string }{
		{"[](a -> <>b)", "-", "+"},
		{"!(a U b)", "-", "-"},
		{"a R b", "+", "+"},
		{"a <-> b", "+-", "+-"},
		{"!a || a U b", "+-", "+"},
		{"!(a -> !b)", "+", "+"},
		{"a -> (a -> b)", "-", "+"},
		{"(a -> c) -> b", "+", "+"},
		{"[]<>c", "0", "0"},
	} {
		p := ltltest.MustParse(t, c.f).Polarities()
		if p["a"].String() != c.a || p["b"].String() != c.b {
			t.Errorf("%s: a %s, b %s; want %s, %s", c.f, p["a"], p["b"], c.a, c.b)
		}
	}
}

// The meaning of polarity: making a positive atom true anywhere, or a negative
// one false, never makes a true formula false.
func TestPolarityIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, w := formulas(5).Draw(t, "f"), lassos().Draw(t, "w")
		p := f.Polarities()
		v, _ := f.Holds(w)
		changed := Lasso{Atoms: w.Atoms, Stem: append([]uint64(nil), w.Stem...),
			Loop: append([]uint64(nil), w.Loop...)}
		for _, part := range [][]uint64{changed.Stem, changed.Loop} {
			for i := range part {
				for bit, a := range w.Atoms {
					if p[a]&Negative == 0 && rapid.Bool().Draw(t, "set") {
						part[i] |= 1 << bit
					}
					if p[a]&Positive == 0 && rapid.Bool().Draw(t, "clear") {
						part[i] &^= 1 << bit
					}
				}
			}
		}
		after, err := f.Holds(changed)
		if err != nil {
			t.Fatal(err)
		}
		if v && !after {
			t.Fatalf("%s holds on %v, not on %v", f, w, changed)
		}
		for a, q := range f.Simplify().Polarities() {
			if q&^p[a] != 0 {
				t.Fatalf("%s: simplification gave %s the polarity %s", f, a, q)
			}
		}
	})
}

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		f    string
		want Class
		not  Class
	}{
		{"a && !b", Boolean | NextFree | Safety | Guarantee, Eventual | Universal},
		{"[]a", Universal | Safety | Obligation | NextFree, Eventual | Guarantee},
		{"<>a", Eventual | Guarantee | Obligation, Universal | Safety},
		{"[]<>a", Eventual | Universal | Recurrence, Obligation | Persistence},
		{"<>[]a", Eventual | Universal | Persistence, Obligation | Recurrence},
		{"[](a -> <>b)", Universal | Recurrence, Obligation},
		{"<>a -> <>b", Obligation, Safety | Guarantee},
		{"a U b", Guarantee, Safety},
		{"a W b", Safety, Guarantee},
		{"a U ([]b)", Persistence, Obligation | Recurrence},
		{"X a", Safety | Guarantee, NextFree | Boolean},
		{"!([]a)", Eventual | Guarantee, Universal},
		{"[]a <-> <>b", Obligation, Safety},
		{"[]a W (<>b)", Obligation, Safety | Guarantee},
	} {
		f := ltltest.MustParse(t, c.f)
		if got := f.Class(); got&c.want != c.want || got&c.not != 0 {
			t.Errorf("%s: class %b, want %b and not %b", c.f, got, c.want, c.not)
		}
	}
}

// The golden file has one formula a line; beside it stands what it simplifies to.
func TestSimplifyGolden(t *testing.T) {
	path := filepath.Join("testdata", "simplify.golden")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			out.WriteString(line + "\n")
			continue
		}
		in, want, _ := strings.Cut(line, " ==> ")
		got := ltltest.MustParse(t, in).Simplify().String()
		out.WriteString(in + " ==> " + got + "\n")
		if got != want && !*update {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// SPIN's syntax, in which the golden file is written, has no M.
func TestSimplifyStrongRelease(t *testing.T) {
	a, b, c := Atom("a"), Atom("b"), Atom("c")
	for _, x := range []struct {
		f    Formula
		want string
	}{
		{Eventually(StrongRelease(a, b)), "<>(a && b)"},
		{StrongRelease(a, And(b, Eventually(a))), "a M b"},
		{StrongRelease(StrongRelease(a, b), Or(b, c)), "(a && b) M (b || c)"},
	} {
		if got := x.f.Simplify().String(); got != x.want {
			t.Errorf("%s: got %s, want %s", x.f, got, x.want)
		}
	}
}

func TestAtomsAndSize(t *testing.T) {
	f := ltltest.MustParse(t, "[](b -> <>(a && b && c))")
	if got := strings.Join(f.Atoms(), " "); got != "a b c" {
		t.Errorf("atoms %s", got)
	}
	if f.Size() != 9 {
		t.Errorf("size %d", f.Size())
	}
	g := Atom("a")
	for range 100 { // a tree of 2^100 nodes
		g = Until(g, Next(g))
	}
	if g.Size() != 1<<30 {
		t.Errorf("size %d of a huge tree", g.Size())
	}
	if g.NNF() != g || len(g.Atoms()) != 1 || Compare(g, Next(g)) == 0 {
		t.Error("shared subformulas")
	}
}

func TestCompareIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, g, h := formulas(3).Draw(t, "f"), formulas(3).Draw(t, "g"), formulas(3).Draw(t, "h")
		if (Compare(f, g) == 0) != (f == g) || Compare(f, g) > 0 != (Compare(g, f) < 0) {
			t.Fatalf("%s, %s: %d and %d", f, g, Compare(f, g), Compare(g, f))
		}
		if Compare(f, g) < 0 && Compare(g, h) < 0 && Compare(f, h) >= 0 {
			t.Fatalf("%s < %s < %s, not transitive", f, g, h)
		}
	})
}

func BenchmarkSimplify(b *testing.B) {
	f := ltltest.MustParse(b, "[]((p && !r && <>r) -> ((q -> (!r U (s && !r))) U r)) && ([]<>p "+
		"-> []<>q) && !(a U (b U c))")
	for b.Loop() {
		f.Simplify()
	}
}
