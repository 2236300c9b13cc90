package quotient_test

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/search/quotient"
	"cpor/frontend/model"
	"cpor/system"
)

func load(t *testing.T, text string) system.System {
	t.Helper()
	m, err := model.Parse("test.model", text, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m.System()
}

func explore(t *testing.T, sys system.System, f func(system.System) search.Factory) *search.Result {
	t.Helper()
	res, err := search.Run(context.Background(), sys, f(sys), search.Options{
		Options: engine.Options{Workers: 2, All: true}})
	if err != nil || !res.Exhaustive {
		t.Fatal(err, res.Reason)
	}
	return res
}

func vectors(sys system.System) search.Factory {
	return func() search.Expander { return cartesian.New(sys, cartesian.Options{}) }
}

// TestOrbits holds the number of states to what combinatorics says.
func TestOrbits(t *testing.T) {
	binomial := func(n, k int64) uint64 { return new(big.Int).Binomial(n, k).Uint64() }
	pow := func(b, n int) uint64 {
		p := uint64(1)
		for range n {
			p *= uint64(b)
		}
		return p
	}
	skips := func(k, n int) string {
		return fmt.Sprintf("symmetric thread T() { %s }\ninit { for range %d { go T() } }",
			strings.Repeat("skip\n", k-1), n)
	}
	for _, c := range []struct {
		name, text    string
		states, plain uint64
	}{
		// n threads with k local states: multisets of n of k.
		{"2 of 2", skips(2, 2), binomial(3, 2), 4},
		{"6 of 4", skips(4, 6), binomial(9, 6), pow(4, 6)},
		{"10 of 3", skips(3, 10), binomial(12, 10), pow(3, 10)},
		// Two kinds are exchanged each by itself.
		{"two kinds", "symmetric thread T() { skip; skip }\nsymmetric thread U() { skip }\ninit " +
			"{ for range 3 { go T(); go U() } }", binomial(5, 3) * binomial(4, 3),
			pow(3, 3) * pow(2, 3)},
		{"one kind of two", "symmetric thread T() { skip; skip }\nthread U() { skip }\ninit { " +
			"for range 3 { go T(); go U() } }", binomial(5, 3) * pow(2, 3), pow(3, 3) * pow(2, 3)},
		// Threads with different parameters begin apart: 1 of 2 and 2 of the other. When
		// they have ended nothing is left of the parameters.
		{"parameters", "var x uint2\nsymmetric thread T(n uint2) { skip; x = n }\ninit { go " +
			"T(1); go T(1); go T(2) }", 0, 0},
		// One at a time is inside: i before, one inside or none, the others ended.
		{"mutex", "mutex m\nsymmetric thread T() { lock(m); unlock(m) }\ninit { for range 8 { go " +
			"T() } }", 9 + 8, pow(2, 8) + 8*pow(2, 7)},
		// Who waits for a condition is in a set of bits.
		{"cond", "mutex m\ncond c\nsymmetric thread T() { lock(m); wait(c, m); unlock(m) " +
			"}\nthread U() { broadcast(c) }\ninit { for range 4 { go T() }; go U() }", 0, 0},
		{"meeting", "var u chan int\nsymmetric thread T() { u <- 1 }\nsymmetric thread R() { <-u " +
			"}\ninit { for range 3 { go T(); go R() } }", 0, 0},
		// n threads with a name each, which they know, with 3 local states: when a thread has ended
		// its name is that of nobody.
		{"names", "type Pid symmetric(6)\nvar f [Pid]bool\nsymmetric thread T(p Pid) { f[p] = " +
			"true; f[p] = false }\ninit { for p := range Pid { go T(p) } }", binomial(8, 6),
			pow(3, 6)},
		{"names and kinds", "type Pid symmetric(4)\nvar f [Pid]bool\nsymmetric thread T(p Pid) { " +
			"f[p] = true }\nsymmetric thread U(p Pid) { f[p] = false; skip }\ninit { for p := " +
			"range Pid { go T(p); go U(p) } }", 0, 0},
		// Which name the one thread has chosen.
		{"chosen", "type Pid symmetric(9)\nthread T() { p := choose(Pid); assert(p != nil); " +
			"skip; _ = p }\ninit { go T() }", 0, 0},
		{"pairs", "type Pid symmetric(9)\nvar a, b, c Pid\nthread T() { a = choose(Pid); b = " +
			"choose(Pid); c = choose(Pid) }\ninit { go T() }", 0, 0},
		// Created threads are exchanged, too: so many created, so many of these ended.
		{"created", "thread M() { for range 4 { go T() } }\nsymmetric thread T() { skip }\ninit " +
			"{ go M() }", 1 + 2 + 3 + 4 + 5, 1 + 2 + 4 + 8 + 16},
	} {
		sys := load(t, c.text)
		q, err := quotient.New(sys)
		if err != nil {
			t.Fatal(c.name, err)
		}
		states, plain := explore(t, q, full.Factory).States, explore(t, sys, full.Factory).States
		if c.states != 0 && (states != c.states || plain != c.plain) {
			t.Errorf("%s: %d states and %d orbits, want %d and %d", c.name, plain, states, c.plain,
				c.states)
		}
		if states >= plain {
			t.Errorf("%s: %d orbits of %d states", c.name, states, plain)
		}
		if n := explore(t, q, vectors).States; n > states {
			t.Errorf("%s: cartesian vectors cover %d of %d orbits", c.name, n, states)
		}
	}
}

// TestLift holds the traces of orbits to the plain system: they replay there, or the
// search has an error, and their findings are those of the plain search.
func TestLift(t *testing.T) {
	for _, text := range append([]string{
		"var x, done uint4\nsymmetric thread T(k uint4) { v := x; x = v + k; atomic { done++ }; " +
			"await(done == 3); assert(x == 4) }\ninit { go T(2); go T(1); go T(1) }",
		"var m [2]mutex\nsymmetric thread T(i int) { lock(m[i]); lock(m[1-i]); unlock(m[i]); " +
			"unlock(m[1-i]) }\ninit { go T(1); go T(0); go T(1) }",
		"mutex m\nsymmetric thread T() { if trylock(m) { skip }; unlock(m) }\ninit { for range 3 " +
			"{ go T() } }",
		"monitor m\nvar n uint4\nsymmetric thread T() { synchronized (m) { atomic { n++ }; for n " +
			"< 3 { wait(m) }; notify(m) }; atomic { n-- } }\ninvariant i { count i in T { T[i]@x " +
			"} < 2 }\ninit { for range 3 { go T() } }",
		"var c chan(1) uint2\nvar u chan uint2\nsymmetric thread T(k uint2) { select { case c <- " +
			"k: skip; case v := <-u: assert(v != k); case u <- k: skip }; assert(len(c) < 1) " +
			"}\ninit { go T(2); go T(1); go T(2) }",
	}, named...) {
		text = strings.Replace(text, "atomic { n-- }", "x: atomic { n-- }", 1)
		sys := load(t, text)
		q, err := quotient.New(sys)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []func(system.System) search.Factory{full.Factory, vectors} {
			want, got := map[string]bool{}, map[string]bool{}
			for _, v := range explore(t, sys, f).Violations {
				want[fmt.Sprint(v.Kind, v.Pos)] = true
			}
			for _, v := range explore(t, q, f).Violations {
				if got[fmt.Sprint(v.Kind, v.Pos)] = true; v.Trace == nil {
					t.Errorf("%s: no trace: %s", text, v.TraceMissing)
				}
			}
			if fmt.Sprint(want) != fmt.Sprint(got) || len(want) == 0 {
				t.Errorf("%s: found %v, the plain search %v", text, got, want)
			}
		}
	}
}

// TestIsomorphism holds the number of initial states to that of structures that are not
// isomorphic: the initial states are all structures on n names, so this fails if two
// isomorphic ones have different representatives, or two others the same one.
func TestIsomorphism(t *testing.T) {
	models, err := txtar.ParseFile("testdata/isomorphism.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range models.Files {
		name, counts, _ := strings.Cut(file.Name, " ")
		for _, c := range strings.Fields(counts) {
			var n, orbits int
			if _, err := fmt.Sscanf(c, "%d:%d", &n, &orbits); err != nil {
				t.Fatal(file.Name, err)
			}
			if testing.Short() && n > 4 {
				continue
			}
			sys := load(t, fmt.Sprintf("const N = %d\n%s", n, file.Data))
			q, err := quotient.New(sys)
			if err != nil {
				t.Fatal(name, err)
			}
			if got := len(q.Initial()); got != orbits {
				t.Errorf("%s of %d: %d representatives of %d states, want %d", name, n, got,
					len(sys.Initial()), orbits)
			}
		}
	}
}

// TestAutomorphism holds the permutations that lead to representatives to what they are for:
// a state and its representative have the same successors but for permutations, with the
// same violations.
func TestAutomorphism(t *testing.T) {
	for _, text := range named {
		sys := load(t, text)
		sym := sys.Capabilities().Symmetric
		represent := sym.Representatives()
		m := sys.NewMachine()
		successors := func(s system.State) map[string]int {
			all := map[string]int{}
			m.Load(s)
			mark := m.Mark()
			for th := range m.NumThreads() {
				for alt, more := uint64(0), true; more; {
					out := m.Step(th, alt)
					e := m.Encode(nil)
					represent(e)
					k := fmt.Sprint(out.Kind, out.AtEnd, " ", engine.StateString(e))
					for v := out.Violation; v != nil; v = v.Also {
						k += fmt.Sprint(v.Kind, v.Pos)
					}
					all[k]++
					m.Rewind(mark)
					alt, more = out.Next, out.Kind == system.Moved && out.Next != 0
				}
			}
			return all
		}
		seen := map[string]bool{}
		work := slices.Clone(sys.Initial())
		moved := 0
		for len(work) > 0 && len(seen) < 3000 {
			s := work[len(work)-1]
			work = work[:len(work)-1]
			c := slices.Clone(s)
			represent(c)
			again := slices.Clone(c)
			if represent(again); !slices.Equal(again, c) {
				t.Fatalf("%s: the representative of a representative is another one", text)
			}
			if !slices.Equal(c, s) {
				moved++
				if a, b := successors(s), successors(c); !maps.Equal(a, b) {
					t.Fatalf(
						"%s: a state and its representative have different successors:\n%v\n%v",
						text, a, b)
				}
			}
			m.Load(s)
			mark := m.Mark()
			for th := range m.NumThreads() {
				for alt, more := uint64(0), true; more; {
					out := m.Step(th, alt)
					if e := m.Encode(nil); out.Kind == system.Moved &&
						!seen[engine.StateString(e)] {
						seen[engine.StateString(e)] = true
						work = append(work, e)
					}
					m.Rewind(mark)
					alt, more = out.Next, out.Kind == system.Moved && out.Next != 0
				}
			}
		}
		if moved == 0 {
			t.Errorf("%s: every state is its own representative", text)
		}
	}
}

// named are models with names, in what can hold them.
var named = []string{
	"type Pid symmetric(3)\nvar flag [Pid]bool\nvar owner Pid\nmutex m\nvar in [Pid]chan(1) " +
		"Pid\nsymmetric thread W(me Pid) { flag[me] = true; lock(m); owner = me; x: owner = nil; " +
		"unlock(m); p := choose(Pid); if p != me { in[p] <- me }; assert(<-in[me] == p) " +
		"}\ninvariant i { count i in W { W[i]@x } <= 1 }\ninvariant f { forall p in Pid { owner " +
		"!= p || flag[p] } }\ninit { for p := range Pid { go W(p) } }",
	"type Pid symmetric(3)\nvar m [Pid]mutex\nvar n [Pid]uint2\nsymmetric thread W(me, other " +
		"Pid) { lock(m[me]); lock(m[other]); n[other]++; unlock(m[other]); unlock(m[me]) }\ninit " +
		"{ last := choose(Pid); first := last; for p := range Pid { if p != first { go W(last, " +
		"p); last = p } }; go W(last, first) }",
	"type Pid symmetric(3)\ntype Node struct { next *Node; v uint2 }\nvar node [Pid]Node\nvar " +
		"head *Node\nthread W() { for i := range 2 { p := choose(Pid); q := &node[p]; q.next = " +
		"head; head = q; q.v = uint2(i) }; assert(head.v == 1 || head == nil); head = head.next; " +
		"assert(head != head.next) }\nthread V() { x := &node; y := choose(Pid); (*x)[y].v = 3 " +
		"}\ninit { go W(); go V() }",
	"type Pid symmetric(3)\ntype Msg struct { to, from Pid; n uint2 }\nvar b bag(3) " +
		"Msg\nsymmetric thread W(me Pid) { p := choose(Pid); b <- Msg{p, me, 1}; var seen " +
		"[Pid]bool; for range 2 { m := <-b; seen[m.from] = true; if seen[me] { assert(m.to != " +
		"me) } } }\ninit { for p := range Pid { go W(p) } }",
	"type Pid symmetric(3)\nvar c [Pid]chan Pid\nthread S() { p := choose(Pid); x := c[p]; x <- " +
		"p }\nsymmetric thread R(me Pid) { select { case q := <-c[me]: assert(q == me); case " +
		"await(exists p in Pid { len(c[p]) > 0 }): skip } }\ninit { go S(); for p := range Pid { " +
		"go R(p) } }",
	"type Pid symmetric(3)\nvar c [Pid]cond\nmutex m\nvar w [Pid]monitor\nvar q " +
		"[Pid]rwmutex\nsymmetric thread R(me Pid) { lock(m); wait(c[me], m); unlock(m); " +
		"rlock(q[me]); skip; runlock(q[me]) }\nthread S() { p := choose(Pid); signal(c[p]); " +
		"lock(q[p]); r := choose(Pid); synchronized (w[r]) { skip }; unlock(q[p]) }\ninit { go " +
		"S(); for p := range Pid { go R(p) } }",
	"type Pid symmetric(3)\ntype Key symmetric(2)\nvar held [Key]Pid\nvar wants " +
		"[Pid][Key]bool\nsymmetric thread W(me Pid) { k := choose(Key); wants[me][k] = true; " +
		"atomic { if held[k] == nil { held[k] = me } }; if choose(0, 1) == 1 && cas(held[k], me, " +
		"nil) { atomic { wants[me] = [Key]bool{} } }; wants[me][choose(Key)] = false " +
		"}\ninvariant i { forall p in Pid { forall k in Key { held[k] != p || wants[p][k] } } " +
		"}\ninit { for p := range Pid { go W(p) } }",
	"type Pid symmetric(3)\nvar x [Pid]uint2\nsymmetric thread W(me Pid) { x[me]++; v := x[me]; " +
		"await(sum p in Pid { x[p] } == 3 || exists p in Pid { p != me && x[p] == v }); " +
		"x[choose(Pid)] = 0; assert(x[me] != 0) }\nthread M() { go W(choose(Pid)); go " +
		"W(choose(Pid)) }\ninit { go M() }",
	"type Pid symmetric(3)\nvar c chan(2) Pid\nvar x [Pid]bool\nthread W() { for range 2 { p := " +
		"choose(Pid); c <- p; var q Pid = p; x[p] = x[q] != true } }\nthread R() { p, ok := <-c; " +
		"q := <-c; if ok && p == q { x[nil2(p)] = true } }\nfunc nil2(p Pid) Pid { if x[p] { " +
		"return nil }; return p }\ninit { go W(); go R() }",
}

func TestNoSymmetry(t *testing.T) {
	for _, text := range []string{
		"thread T() { skip }\ninit { go T() }",
		// A thread of a large number could not wait.
		"mutex m\ncond c\nthread M() { go T() }\nsymmetric thread T() { lock(m); wait(c, m) " +
			"}\ninit { go M() }",
	} {
		if _, err := quotient.New(load(t, text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
