package buchi

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"cpor/testkit/sample"

	"cpor/ltl"
	"cpor/testkit/ltltest"
)

// Each formula of the golden file with its automaton as text.
func TestGolden(t *testing.T) {
	var out strings.Builder
	for _, s := range []string{
		"true", "false", "p", "[]p", "<>p", "p U q", "[]<>p", "<>[]p", "[](p -> <>q)",
		"!([](p -> <>q))",
		"[]<>p && []<>q", "<>[]p || []<>q", "p R q", "X p", "odd names", "p && ((q U r) U []p)",
		"[]<>a && []<>b && []<>c && []<>d && []<>e && <>[]f",
	} {
		f := ltl.Always(ltl.Implies(ltl.Atom(`x > "3"`), ltl.Eventually(ltl.Atom(`a\b`))))
		if s != "odd names" {
			f = ltltest.MustParse(t, s)
		}
		a := mustTranslate(t, f, Options{})
		var strengths []string
		for _, k := range a.Strengths() {
			strengths = append(strengths, k.String())
		}
		fmt.Fprintf(&out, "# %s\n%s(%s)\n", f, a, strings.Join(strengths, ", "))
		fmt.Fprintln(&out)
	}
	path := filepath.Join("testdata", "automata.golden")
	if *update {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("automata differ from %s (go test -update writes it anew):\n%s", path,
			out.String())
	}
}

func TestDeterministicOutput(t *testing.T) {
	_, formulas := patterns(t)
	var wg sync.WaitGroup
	first := map[ltl.Formula]*Automaton{}
	for _, f := range formulas["dac"] {
		first[f] = mustTranslate(t, f, Options{})
	}
	again := sample.Of(2, 2, 4)
	for range again {
		wg.Go(func() {
			for f, a := range first {
				if b, err := Translate(f, Options{}); err != nil || !reflect.DeepEqual(a, b) {
					t.Errorf("%s: another automaton the second time: %v\n%s\n%s", f, err, a, b)
				}
			}
		})
	}
	wg.Wait()
}

func TestAtomsOption(t *testing.T) {
	f := ltltest.MustParse(t, "[](q -> <>p)")
	a := mustTranslate(t, f, Options{Atoms: []string{"x", "q", "y", "p"}})
	b := mustTranslate(t, ltl.Not(f), Options{})
	if strings.Join(a.Atoms, "") != "xqyp" || strings.Join(b.Atoms, "") != "pq" {
		t.Errorf("atoms %v and %v", a.Atoms, b.Atoms)
	}
	for _, ts := range a.Out {
		for _, tr := range ts {
			if (tr.Label.Pos|tr.Label.Neg)&0b0101 != 0 {
				t.Errorf("label with an atom that the formula does not have: %v", tr)
			}
		}
	}
	if apart, err := disjoint(a, b); !apart || err != nil {
		t.Errorf("disjoint %v, %v", apart, err)
	}
	if apart, err := disjoint(a, mustTranslate(t, f, Options{})); apart || err != nil {
		t.Errorf("disjoint from itself %v, %v", apart, err)
	}
}

func TestErrors(t *testing.T) {
	many := func(n int) []string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("a%d", i))
		}
		return names
	}
	disjunction := func(n int) ltl.Formula {
		var fs []ltl.Formula
		for _, a := range many(n) {
			fs = append(fs, ltl.Atom(a))
		}
		return ltl.Or(fs...)
	}
	response := func(n int) ltl.Formula {
		var fs []ltl.Formula
		for i := range n {
			fs = append(fs, ltltest.MustParse(t, fmt.Sprintf("[](a%d -> <>b%d)", i, i)))
		}
		return ltl.And(fs...)
	}
	mustTranslate(t, disjunction(64), Options{})
	for _, c := range []struct {
		name string
		f    ltl.Formula
		o    Options
		want any
		msg  string
	}{
		{"65 atoms", disjunction(65), Options{}, new(*AtomsError), "65 atoms, at most 64"},
		{"65 atoms listed", disjunction(2), Options{Atoms: many(65)}, new(*AtomsError),
			"65 atoms, at most 64"},
		{"atom twice", ltl.Atom("a"), Options{Atoms: []string{"a", "a"}}, new(*AtomsError),
			`"a" is listed twice`},
		{"atom missing", ltl.Atom("a"), Options{Atoms: []string{"b"}}, new(*AtomsError),
			`"a" of the formula is not listed`},
		{"states", response(3), Options{MaxStates: 5}, new(*TooLargeError), "more than 5"},
		{"transitions", response(8), Options{}, new(*TooLargeError), "grows too large"},
		{"transitions", response(8), Options{MaxStates: 200}, new(*TooLargeError),
			"grows too large"},
		{"diagram", response(14), Options{}, new(*TooLargeError), "grows too large"},
	} {
		if testing.Short() && c.f.Size() > 60 {
			continue // seconds until it is given up
		}
		_, err := Translate(c.f, c.o)
		if !errors.As(err, c.want) || !strings.Contains(err.Error(), c.msg) {
			t.Errorf("%s: error %v, want a %T with %q", c.name, err, c.want, c.msg)
		}
	}
	a, b := mustTranslate(t, disjunction(64), Options{}), mustTranslate(t, ltl.Atom("z"), Options{})
	if _, err := disjoint(a, b); err == nil {
		t.Error("65 atoms together: no error")
	}
	for _, w := range []ltl.Lasso{{Atoms: []string{"z"}},
		{Atoms: []string{"y"}, Loop: []uint64{0}}} {
		if _, err := b.Accepts(w); err == nil {
			t.Errorf("%v: no error", w)
		}
	}
}

// All translations with a limit either respect it or fail.
func TestLimitIsRespected(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	refused := 0
	for range 300 {
		f := randomFormula(r, 8, 3, true)
		limit := 1 + r.IntN(6)
		a, err := Translate(f, Options{MaxStates: limit})
		var large *TooLargeError
		switch {
		case errors.As(err, &large):
			refused++
		case err != nil:
			t.Fatal(err)
		case a.States() > limit:
			t.Fatalf("%s: %d states, limit %d", f, a.States(), limit)
		}
	}
	if refused == 0 || refused == 300 {
		t.Errorf("%d of 300 refused", refused)
	}
}

func TestEmptyAndUniversal(t *testing.T) {
	for _, s := range []string{
		"false", "a && !a", "[]a && <>!a", "(X p0 U p1) <-> !(X p0 U p1)",
		"[](a -> X a) && a && <>!a", "a U b && []!b",
		"[]<>a && <>[]!a", "(a U (b U c)) && !((a || b) U c)",
	} {
		f := ltltest.MustParse(t, s)
		a := mustTranslate(t, f, Options{})
		if !a.Empty() || a.States() != 1 || a.Transitions() != 0 {
			t.Errorf("%s: not the empty automaton:\n%s", s, a)
		}
		if b := mustTranslate(t, ltl.Not(f), Options{}); b.States() != 1 || b.Transitions() != 1 ||
			!b.Accepting[0] ||
			b.Strengths()[0] != Terminal {
			t.Errorf("!(%s): not the universal automaton:\n%s", s, b)
		}
	}
}

func TestStrengths(t *testing.T) {
	for _, c := range []struct{ f, want string }{
		{"<>a", "rejecting terminal"},
		{"[]a", "weak"},
		{"[]<>a", "strong strong"},
		{"<>[]a", "rejecting weak"},
		{"a U ([]b)", "rejecting weak"},
		{"X X a", "rejecting rejecting rejecting terminal"},
	} {
		a := mustTranslate(t, ltltest.MustParse(t, c.f), Options{})
		var got []string
		for _, s := range a.Strengths() {
			got = append(got, s.String())
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s\n%s", c.f, got, c.want, a)
		}
	}
}

// Formulas with many recurring conditions take another path; see suspend.
func TestFairnessAssumptions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	formulas, enough := sample.Of(2, 2, 16), sample.Of(25, 25, 200)
	accepted, rejected := 0, 0
	for n := minSuspended - 1; n <= 16; n += 4 {
		var fair []ltl.Formula
		names := []string{"a", "b", "c"}
		for i := range n {
			names = append(names, fmt.Sprintf("f%d", i))
			fair = append(fair, ltltest.MustParse(t, fmt.Sprintf("[]<>(f%d && !a)", i)))
		}
		for range formulas {
			f := ltl.And(append(fair, randomFormula(r, 5, 3, true))...)
			o := Options{Atoms: names}
			a := mustTranslate(t, f, o)
			b, err := Translate(ltl.Not(f), o)
			if err == nil {
				if apart, _ := disjoint(a, b); !apart {
					t.Fatalf("%s: accepts words that its negation accepts", f)
				}
			}
			for range 50 {
				w := ltl.Lasso{Atoms: names, Stem: make([]uint64, r.IntN(4)),
					Loop: make([]uint64, 4+r.IntN(2))}
				for _, part := range [][]uint64{w.Stem, w.Loop} {
					for i := range part {
						part[i] = r.Uint64()
						if len(part) == 5 { // make the assumptions likely
							part[i] |= r.Uint64() | r.Uint64()<<3
						}
					}
				}
				want, err := f.Holds(w)
				if err != nil {
					t.Fatal(err)
				}
				if want {
					accepted++
				} else {
					rejected++
				}
				if got, err := a.Accepts(w); got != want || err != nil {
					t.Fatalf("%s is %v on %v, the automaton says %v, %v", f, want, w, got, err)
				}
			}
		}
	}
	t.Logf("%d words accepted, %d rejected", accepted, rejected)
	if accepted < enough || rejected < enough {
		t.Errorf("%d words accepted, %d rejected: too one-sided to be a test", accepted, rejected)
	}
}

func FuzzTranslate(f *testing.F) {
	for _, s := range []string{"[](a -> <>b)", "a U b R a", "!(a W X b)", "[]<>a && <>[]b",
		"a <-> <>b"} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		formula, err := ltltest.Parse(s)
		if err != nil || formula.Size() > 25 || len(formula.Atoms()) > 5 {
			return
		}
		o := Options{Atoms: formula.Atoms(), MaxStates: 500}
		a, err := Translate(formula, o)
		var large *TooLargeError
		if errors.As(err, &large) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for range 20 {
			w := randomWord(r, 4)
			w.Atoms = o.Atoms
			want, err := formula.Holds(w)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := a.Accepts(w); got != want || err != nil {
				t.Fatalf("%s is %v on %v, the automaton says %v, %v\n%s", formula, want, w, got,
					err, a)
			}
		}
	})
}

// go test -bench Translate ./ltl/buchi
func BenchmarkTranslate(b *testing.B) {
	_, formulas := patterns(b)
	for _, c := range []struct {
		name string
		f    ltl.Formula
	}{
		{"response", ltltest.MustParse(b, "!([](p -> <>q))")},
		{"dac44", formulas["dac"][43]},
		{"eh10", formulas["eh"][9]},
		{"notDac55", ltl.Not(formulas["dac"][54])},
		{"fairness8", ltltest.MustParse(b, "[]<>a && []<>b && []<>c && []<>d && []<>e && []<>f "+
			"&& []<>g && []<>h && <>(p && []!q)")},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustTranslate(b, c.f, Options{})
			}
		})
	}
	b.Run("all188", func(b *testing.B) {
		for b.Loop() {
			for _, fs := range formulas {
				for _, f := range fs {
					mustTranslate(b, f, Options{})
					mustTranslate(b, ltl.Not(f), Options{})
				}
			}
		}
	})
}
