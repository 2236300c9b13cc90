package machine

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/system"
	"cpor/testkit/systemtest"
)

// reducible returns the small models of which no reduction is refused.
func reducible(t *testing.T) map[string]*System {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(micro, "*.pml"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	out := map[string]*System{}
	for _, f := range files {
		s, err := load(t, f, Options{})
		if err != nil || s.Irreducible(false) != "" || strings.HasSuffix(f, "inf.pml") {
			continue // or one of steps without end, each of which takes a quarter of a million
		}
		out[filepath.Base(f)] = s
	}
	for _, x := range examples {
		if s := example(t, x.name, x.defines); s.Irreducible(false) == "" {
			out[fmt.Sprintf("%s %v", x.name, x.defines)] = s
		}
	}
	return out
}

// TestConform holds the accesses that the machine reports to the contract: what a
// transition does depends on nothing else, and what it does not show it does not
// change.
func TestConform(t *testing.T) {
	systems := reducible(t)
	if len(systems) < 150 {
		t.Errorf("only %d systems", len(systems))
	}
	for name, s := range systems {
		t.Run(name, func(t *testing.T) {
			systemtest.Conform(t, s, systemtest.Options{MaxStates: sample.Of[uint64](20, 20, 400),
				Walks: sample.Of(2, 3, 20), Steps: 20})
		})
	}
}

// TestReductions runs every engine on the small models and on generated ones, and
// compares what they say with the search that reduces nothing.
func TestReductions(t *testing.T) {
	limit := sample.Of[uint64](150, 300, 3000)
	compared := 0
	systems := reducible(t)
	for i, name := range slices.Sorted(maps.Keys(systems)) {
		if !sample.Long() && i%8 != 0 {
			continue
		}
		s := systems[name]
		t.Run(name, func(t *testing.T) {
			compared += systemtest.Agree(t, s, systemtest.Engines(), acyclic(s, int(limit)), limit,
				1)
		})
	}
	if compared < 300 {
		t.Errorf("only %d runs compared", compared)
	}
	n, refused := sample.Of(3, 3, 50), 0
	for i := range uint64(n) {
		seed := *spinFirst + i
		s, err := generated(seed)
		if err != nil || s.Irreducible(false) != "" {
			refused++
			continue
		}
		if manyWays(s) {
			refused++
			continue
		}
		ok := t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			systemtest.Conform(t, s, systemtest.Options{MaxStates: 30, Walks: 3, Steps: 20,
				Seed: seed})
			compared += systemtest.Agree(t, s, systemtest.Engines(), acyclic(s, int(limit)), limit,
				1)
		})
		if !ok && *spinKeep != "" {
			_ = os.WriteFile(filepath.Join(*spinKeep, fmt.Sprintf("reduce-%d.pml", seed)),
				[]byte(generate(seed)), 0o666)
		}
	}
	t.Logf("%d runs compared, %d of %d generated models refused or too large", compared, refused, n)
}

// manyWays reports whether a step in one of the first states has more ways through it than pairs
// of them can be tried.
func manyWays(s *System) bool {
	const states, ways = 300, 100
	m := s.newMachine()
	m.Track(true)
	seen := map[string]bool{}
	for work := []system.State{s.initial[0]}; len(work) > 0 && len(seen) < states; work = work[1:] {
		if k := fmt.Sprint(work[0]); seen[k] {
			continue
		} else {
			seen[k] = true
		}
		m.Load(work[0])
		for t := range m.NumThreads() {
			n, alt := 0, uint64(0)
			for more := true; more; n++ {
				if n == ways {
					return true
				}
				mark := m.Mark()
				out := m.Step(t, alt)
				if out.Kind == system.Moved {
					work = append(work, m.Encode(nil))
				}
				m.Rewind(mark)
				alt, more = out.Next, out.Next != 0
			}
		}
	}
	return false
}

func generated(seed uint64) (*System, error) {
	m, err := syntax.Parse(source.New(fmt.Sprintf("seed-%d.pml", seed), generate(seed)), nil)
	if err != nil {
		return nil, err
	}
	p, err := program.Resolve(m)
	if err != nil {
		return nil, err
	}
	return New(p, Options{})
}

var errCycle = errors.New("a cycle")

// acyclic reports whether all executions of a system end, and it has no more states than limit.
func acyclic(s *System, limit int) bool {
	m := s.newMachine()
	const open, closed = 1, 2
	mark := map[string]int{}
	key := func(st system.State) string { return strings.TrimSpace(fmt.Sprint(st)) }
	var visit func(st system.State) error
	visit = func(st system.State) error {
		k := key(st)
		switch mark[k] {
		case open:
			return errCycle
		case closed:
			return nil
		}
		if len(mark) > limit {
			return errCycle
		}
		mark[k] = open
		m.Load(st)
		var next []system.State
		at := m.Mark()
		for u := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				out := m.Step(u, alt)
				if out.Kind == system.Moved {
					next = append(next, m.Encode(nil))
				}
				m.Rewind(at)
				alt, more = out.Next, out.Next != 0
			}
		}
		for _, e := range next {
			if err := visit(e); err != nil {
				return err
			}
		}
		mark[k] = closed
		return nil
	}
	return visit(s.initial[0]) == nil
}

// TestAlternatives: which alternatives an atomic sequence has is decided on the
// way through some of them, so each shows what all of them look at.
func TestAlternatives(t *testing.T) {
	s := parse(t, `byte g, h, r;
active proctype A() {
	atomic {
		if
		:: r = 1
		:: r = 2; if :: g == 0 -> r = 3 :: g == 1 -> r = 4 :: g == 1 -> h = 5 fi
		fi
	}
}
active proctype B() { g = 1 }`)
	m := s.newMachine()
	m.Track(true)
	var want []system.Access
	mark := m.Mark()
	for alt, n := uint64(0), 0; ; n++ {
		out := m.Step(0, alt)
		acc := slices.Clone(m.Accesses())
		if n == 0 {
			want = acc
			if !slices.ContainsFunc(acc, func(a system.Access) bool {
				return m.LocName(a.Loc) == "g"
			}) {
				t.Errorf("the first alternative does not show g: %v", acc)
			}
		} else if !slices.Equal(acc, want) {
			t.Errorf("alternative %d has the accesses %v, and the first %v", alt, acc, want)
		}
		m.Rewind(mark)
		if out.Next == 0 {
			break
		}
		alt = out.Next
	}
	systemtest.Conform(t, s, systemtest.Options{})
	systemtest.Agree(t, s, systemtest.Engines(), true, 1000, 1)
}

// TestChannelAccesses: a step that changes a channel writes its location, and one that only asks
// about it or waits for it reads that.
func TestChannelAccesses(t *testing.T) {
	const none, read, write = "none", "read", "write"
	for _, x := range []struct {
		stmt        string
		empty, full string // what it does with the channel when that is empty, and when it is full
	}{
		{"q!2", write, read},
		{"q!!2", write, read},
		{"q?_", read, write},
		{"q?1", read, write},
		{"q?2", read, read},
		{"q??1", read, write},
		{"q?<_>", read, read},
		{"q?[1]", read, read},
		{"len(q) == 1", read, read},
		{"full(q)", read, read},
		{"nempty(q)", read, read},
		{"empty(q)", read, read},
		{"if :: nfull(q) :: else fi", read, read},
		{"atomic { q?[1] -> q?_ }", read, write},
		{"d_step { empty(q) -> q!1 }", write, read},
		{"if :: x -> q!1 :: q?_ fi", read, write},
		{"xs q; skip", none, none},
		{"x = 1", none, none},
	} {
		s := parse(t, "chan q = [1] of { byte }; byte x;\nactive proctype I() { q!1 }\nactive "+
			"proctype A() { "+x.stmt+" }")
		m := s.newMachine()
		m.Track(true)
		for _, want := range []string{x.empty, x.full} {
			mark, got := m.Mark(), none
			m.Step(1, 0)
			for _, a := range m.Accesses() {
				if m.LocName(a.Loc) == "q" {
					if got = read; a.Write {
						got = write
					}
				}
			}
			if got != want {
				t.Errorf("%s with %d messages: %s, want %s", x.stmt, m.length(&m.chans[0]), got,
					want)
			}
			m.Rewind(mark)
			m.Step(0, 0)
		}
		systemtest.Conform(t, s, systemtest.Options{})
	}
}

// TestNewReceiver: who waits for a rendezvous depends on the creation of processes that
// can receive.
func TestNewReceiver(t *testing.T) {
	s := parse(t, `chan c = [0] of { byte }; byte x;
active proctype S() { if :: c!1 -> x = 1 :: x == 7 fi }
proctype R() { c?1; assert(x == 0) }
active proctype I() { run R() }
active proctype J() { x = 2; x = 0 }`)
	systemtest.Conform(t, s, systemtest.Options{})
	if n := systemtest.Agree(t, s, systemtest.Engines(), true, 1000, 1); n < 10 {
		t.Errorf("%d runs compared", n)
	}
}

// TestIrreducible: what no reduction survives is named with its place.
func TestIrreducible(t *testing.T) {
	for _, x := range []struct {
		text, want string
		timed      bool // only with a formula
	}{
		{"byte x;\nactive proctype A() { x = 1; if :: x == 2 :: timeout fi }", "m.pml:2: timeout",
			true},
		{"byte x; active proctype A() provided (!timeout) { x++ }", "m.pml:1: timeout", false},
		{"active proctype A() { timeout }\nactive proctype B() {\n\tenabled(0) }", "m.pml:1: " +
			"timeout", false},
		{"active proctype A() { assert(_last == 0) }", "m.pml:1: _last", false},
		{"active proctype A() { skip }\nactive proctype B() {\n\tenabled(0) }", "m.pml:3: enabled",
			true},
		{"active proctype A() priority 3 { skip }", "A has a priority", true},
		{"active proctype A() { set_priority(0, 2) }", "m.pml:1: set_priority", false},
		{"chan c = [1] of { bit }; trace { c!1 } active proctype A() { c!1 }", "a trace assertion",
			true},
		{"byte x; active proctype A() provided (x < 2) { x++ }", "", false},
	} {
		s := parse(t, x.text)
		if got := s.Irreducible(false); (x.want == "" || x.timed) != (got == "") ||
			got != "" && !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %q, want %q", x.text, got, x.want)
		}
		if got := s.Irreducible(true); (x.want == "") != (got == "") ||
			!strings.HasPrefix(got, x.want) {
			t.Errorf("%s, with a formula: %q, want %q", x.text, got, x.want)
		}
	}
	s := parse(t, "byte x; active proctype A() { x = 1 } ltl p { [] (x < 2 || timeout) }")
	if got := s.Irreducible(true); s.Irreducible(false) != "" ||
		!strings.Contains(got, "timeout is true only if no process can move") {
		t.Errorf("a formula that asks for timeout: %q", got)
	}
	for _, c := range []Options{{Claim: NonProgress(s.prog)}, {EmptyChannels: true}} {
		if s, err := New(s.prog, c); err != nil || s.Irreducible(true) == "" ||
			(s.Irreducible(false) == "") != c.EmptyChannels {
			t.Errorf("%+v: a reduction is taken for sound, %v", c, err)
		}
	}
}

func parseText(text string) (*program.Program, error) {
	m, err := syntax.Parse(source.New("m.pml", text), nil)
	if err != nil {
		return nil, err
	}
	return program.Resolve(m)
}

func parse(t *testing.T, text string) *System {
	t.Helper()
	p, err := parseText(text)
	if err != nil {
		t.Fatal(err, text)
	}
	s, err := New(p, Options{})
	if err != nil {
		t.Fatal(err, text)
	}
	return s
}

// TestRemember holds on generated models that a search which
// remembers steps finds what one finds that executes them.
func TestRemember(t *testing.T) {
	n := sample.Of(6, 6, 60)
	compared, states := 0, uint64(0)
	for i := range uint64(n) {
		seed := *spinFirst + i
		if s, err := generated(seed); err != nil || manyWays(s) {
			continue
		}
		s := systemtest.Remember(t, func() system.System {
			s, err := generated(seed)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, 20_000)
		if s > 0 {
			compared++
			states += s
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%s", seed, generate(seed))
		}
	}
	if compared < n/3 {
		t.Errorf("%d of %d models were compared", compared, n)
	}
	t.Logf("%d of %d models, %d states", compared, n, states)
}
