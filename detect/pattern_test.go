package detect

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/detect/computation"
	"cpor/detect/predicate"
	"cpor/detect/simulate"
	"cpor/testkit/sample"
)

// lattice is the oracle for patterns: it builds every consistent cut and evaluates the operators
// by their definitions, on the pattern as it was written.
type lattice struct {
	c    *computation.Computation
	memo map[string]bool
}

func (l *lattice) next(cut computation.Cut) []computation.Cut {
	var out []computation.Cut
	for i := range cut {
		if l.c.Enabled(cut, i) {
			succ := cut.Clone()
			succ[i]++
			out = append(out, succ)
		}
	}
	return out
}

func (l *lattice) holds(n *predicate.Node, cut computation.Cut) bool {
	if !n.Temporal() {
		return Holds(l.c, n, cut)
	}
	key := fmt.Sprintf("%p%v", n, cut)
	v, ok := l.memo[key]
	if !ok {
		v = l.eval(n, cut)
		l.memo[key] = v
	}
	return v
}

func (l *lattice) eval(n *predicate.Node, cut computation.Cut) bool {
	kid := func(i int) bool { return l.holds(n.Kids[i], cut) }
	switch n.Op {
	case predicate.Not:
		return !kid(0)
	case predicate.And:
		for i := range n.Kids {
			if !kid(i) {
				return false
			}
		}
		return true
	case predicate.Or:
		for i := range n.Kids {
			if kid(i) {
				return true
			}
		}
		return false
	case predicate.Iff:
		return kid(0) == kid(1)
	}
	return l.temporal(n, cut, kid)
}

func (l *lattice) temporal(n *predicate.Node, cut computation.Cut, kid func(int) bool) bool {
	switch n.Op {
	case predicate.LeadsTo:
		if kid(0) && !l.soon(predicate.AF, n.Kids[1], cut, n.Bounds[0]) {
			return false
		}
		for _, succ := range l.next(cut) {
			if !l.holds(n, succ) {
				return false
			}
		}
		return true
	case predicate.EG, predicate.AG:
		next := l.next(cut)
		all, some := true, len(next) == 0
		for _, succ := range next {
			v := l.holds(n, succ)
			all, some = all && v, some || v
		}
		now := kid(0)
		if !n.Kids[0].Temporal() {
			now = !Holds(l.c, predicate.Negation(n.Kids[0]), cut) // undefined is not false
		}
		return now && (n.Op == predicate.EG && some || n.Op == predicate.AG && all)
	}
	if n.Kids[0].Op == predicate.Sequence {
		found, missed := l.paths(n.Kids[0], []computation.Cut{cut})
		return n.Op == predicate.EF && found || n.Op == predicate.AF && !missed
	}
	return l.soon(n.Op, n.Kids[0], cut, n.Bounds[0])
}

// soon evaluates EF and AF within a bound.
func (l *lattice) soon(op predicate.Op, n *predicate.Node, cut computation.Cut, bound int64) bool {
	key := fmt.Sprintf("%v %p%v %d", op, n, cut, bound)
	if v, ok := l.memo[key]; ok {
		return v
	}
	v := l.holds(n, cut)
	if next := l.next(cut); !v && bound != 0 && len(next) > 0 {
		all, some := true, false
		for _, succ := range next {
			v := l.soon(op, n, succ, bound-min(1, bound+1))
			all, some = all && v, some || v
		}
		v = op == predicate.EF && some || op == predicate.AF && all
	}
	l.memo[key] = v
	return v
}

// paths tries the sequence on every path from the last cut: whether one has it, and whether
// one has not.
func (l *lattice) paths(seq *predicate.Node, path []computation.Cut) (found, missed bool) {
	next := l.next(path[len(path)-1])
	if len(next) == 0 {
		has := l.embedded(seq, 0, path, 0)
		return has, !has
	}
	for _, succ := range next {
		f, m := l.paths(seq, append(path[:len(path):len(path)], succ))
		found, missed = found || f, missed || m
	}
	return found, missed
}

// embedded reports whether the parts of the sequence from the k'th hold one after the other
// from position at of the path on.
func (l *lattice) embedded(seq *predicate.Node, k int, path []computation.Cut, at int) bool {
	if k == len(seq.Kids) {
		return true
	}
	for x := at; x < len(path); x++ {
		if k > 0 && seq.Bounds[k] >= 0 && int64(x-at) > seq.Bounds[k] {
			return false
		}
		if l.holds(seq.Kids[k], path[x]) && l.embedded(seq, k+1, path, x) {
			return true
		}
	}
	return false
}

// randomPattern returns the text of a random pattern for n processes; a simple one has 1-local
// predicates and no bounds.
func randomPattern(rng *rand.Rand, n, depth int, simple bool) string {
	within := func() string {
		if !simple && rng.IntN(3) == 0 {
			return fmt.Sprintf(" within %d", rng.IntN(5))
		}
		return ""
	}
	sub := func() string { return "(" + randomPattern(rng, n, depth-1, simple) + ")" }
	if depth == 0 || rng.IntN(5) == 0 {
		switch kind := rng.IntN(4); {
		case kind == 0 && !simple:
			return randomPredicate(rng, n, 1, nil)
		case kind < 2:
			return localPredicate(rng, n)
		}
		return fmt.Sprintf("p%d.x", rng.IntN(n)+1)
	}
	switch rng.IntN(12) {
	case 0:
		return sub() + " && " + sub()
	case 1:
		return sub() + " || " + sub()
	case 2:
		return "!" + sub()
	case 3:
		return sub() + " => " + sub()
	case 4:
		return sub() + " <=> " + sub()
	case 5, 6:
		return sub() + " -> " + sub() + within()
	case 7:
		op := []string{"EF", "AF"}[rng.IntN(2)]
		return fmt.Sprintf("%s (%s; %s%s; %s%s)", op, sub(), sub(), within(), sub(), within())
	case 8:
		return []string{"EF", "AF"}[rng.IntN(2)] + " " + sub() + within()
	}
	return []string{"EF", "AF", "EG", "AG"}[rng.IntN(4)] + " " + sub()
}

// TestPatternOracle compares every algorithm with the lattice, on random patterns. Detect
// replays the evidence.
func TestPatternOracle(t *testing.T) {
	const seed = 7
	temporal, sliced, held := 0, 0, 0
	for k := range sample.Of(150, 600, 10_000) {
		rng := rand.New(rand.NewPCG(seed, uint64(k)))
		n := rng.IntN(4) + 1
		simple := k%2 == 0
		depth := 3
		if simple {
			depth = 1 + rng.IntN(2)
		}
		text := randomPattern(rng, n, depth, simple)
		events := rng.IntN(8) // the oracle tries every path for a sequence
		if !strings.Contains(text, ";") {
			events = rng.IntN(25)
		}
		c := simulate.Random(rng, simulate.RandomConfig{Processes: n, Events: events,
			Messages: []float64{0, 0.5, 1}[rng.IntN(3)], Variables: 3, Values: 2, Assign: 0.5,
			Undefined: rng.IntN(4) == 0})
		p, err := predicate.ParsePattern(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		node, err := p.Expand(predicate.NamesOf(c))
		if err != nil {
			continue // a variable that was not assigned
		}
		if node.Temporal() {
			temporal++
		}
		want := (&lattice{c, map[string]bool{}}).holds(node, c.Initial())
		if want {
			held++
		}
		for _, opt := range []Options{{}, {Algorithm: Slice}, {Algorithm: Search},
			{Algorithm: Search, NoPersistent: true}, {Algorithm: Search, Full: true}} {
			res, err := Detect(context.Background(), c, node, Pattern, opt)
			if opt.Algorithm == Slice && errors.Is(err, ErrNotSliceable) {
				continue
			}
			if err != nil {
				t.Fatalf("seed %d, %s, %+v: %v", k, node, opt, err)
			}
			if !res.Exhaustive || res.Holds != want {
				t.Fatalf("seed %d, %s, %+v: %v (%s), want %v", k, node, opt, res.Holds, res.Reason,
					want)
			}
			if opt.Algorithm == Slice && node.Temporal() {
				sliced++
			}
		}
	}
	t.Logf("%d patterns with temporal operators, %d of them by slice, %d hold", temporal, sliced,
		held)
	if sliced < temporal/8 || held < temporal/10 {
		t.Error("the sample does not try what it should")
	}
}

// TestPatternRoundTrip: what a pattern prints is a pattern that means the same.
func TestPatternRoundTrip(t *testing.T) {
	c := simulate.Random(rand.New(rand.NewPCG(1, 1)), simulate.RandomConfig{Processes: 3,
		Events: 40, Messages: 0.5, Variables: 3, Values: 3, Assign: 0.9})
	for k := range 300 {
		text := randomPattern(rand.New(rand.NewPCG(2, uint64(k))), 3, 3, true)
		first := expandPattern(t, c, text)
		if again := expandPattern(t, c, first.String()); again.String() != first.String() {
			t.Errorf("%s\nprints as %s\nand that as %s", text, first, again)
		}
	}
}

func expandPattern(t *testing.T, c *computation.Computation, text string) *predicate.Node {
	t.Helper()
	p, err := predicate.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Expand(predicate.NamesOf(c))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPatternLimits: a search that a limit stops has no answer.
func TestPatternLimits(t *testing.T) {
	c := simulate.Random(rand.New(rand.NewPCG(3, 3)), simulate.RandomConfig{Processes: 6,
		Events: 120, Messages: 0, Variables: 3, Values: 3, Assign: 0.9})
	n := expandPattern(t, c, "p1.y + p2.y + p3.y + p4.y > 100 -> EG p5.y + p6.y > 2")
	res, err := Detect(context.Background(), c, n, Pattern,
		Options{Algorithm: Search, MaxStates: 2000, NoPersistent: true})
	if err != nil {
		t.Fatal(err)
	}
	if res.Exhaustive || !strings.Contains(res.Reason, "limit of 2000 states") {
		t.Errorf("%s: %+v", n, res)
	}
}

func FuzzPattern(f *testing.F) {
	for k := range 20 {
		f.Add(randomPattern(rand.New(rand.NewPCG(5, uint64(k))), 3, 2, false))
	}
	for _, text := range []string{"EF (p1.x; p2.x within 3)", "AG EF EG AF p1.x", "EF.x", "EF (((;",
		"p1.x -> p2.x within", "forall i: (EF i.x) == true"} {
		f.Add(text)
	}
	c := simulate.Random(rand.New(rand.NewPCG(1, 1)), simulate.RandomConfig{Processes: 3,
		Events: 10, Messages: 0.5, Variables: 3, Values: 3, Assign: 0.9})
	f.Fuzz(func(t *testing.T, text string) {
		p, err := predicate.ParsePattern(text)
		if err != nil {
			_ = err.Error()
			return
		}
		n, err := p.Expand(predicate.NamesOf(c))
		if err != nil || len(n.String()) > 2000 {
			return
		}
		for _, alg := range []string{Auto, Search} {
			if _, err := Detect(context.Background(), c, n, Pattern,
				Options{Algorithm: alg, MaxStates: 10_000}); err != nil {
				_ = err.Error()
				if strings.Contains(err.Error(), "internal") {
					t.Errorf("%s: %v", text, err)
				}
			}
		}
	})
}
