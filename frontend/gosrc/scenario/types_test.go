package scenario_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/testkit/sample"
)

var firstSeed = flag.Uint64("first", 0, "the seed of the first thousand types of TestTypes")

// TestTypes explores scenarios of random types: generated operations on data that locks, channels
// or pointers guard, most with a fault, or on what needs no guard. The specification is generated,
// too, or the type itself. It compares how a scenario can fail with all interleavings. A fifth of
// the scenarios are also searched with stored states that do not contain the histories.
func TestTypes(t *testing.T) {
	n := sample.Of(10, 15, 1000)
	const batch, together, storedEach = 1000, 20, 100
	var counts [16]int
	histories, executions, states := 0, uint64(0), uint64(0)
	for seed := range uint64((n + batch - 1) / batch) {
		r := rand.New(rand.NewPCG(*firstSeed+seed, 5))
		var list []*generatedType
		for range min(batch, n) {
			list = append(list, newType(r))
		}
		c := generated(t, list, together)
		for first := 0; first < len(list); first += together {
			part := list[first:min(first+together, len(list))]
			name := fmt.Sprintf("TestTypes%d", first/together)
			p, err := c.Test(name, gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			var usages []usage
			var texts []string
			for i, typ := range part {
				u := newUsage(r, typ)
				usages, texts = append(usages, u), append(texts, u.text(i))
			}
			got, n := failing(t, p, texts)
			executions += n
			stored := p
			if first%storedEach == 0 {
				if stored, err = p.StatesAlone(); err != nil {
					t.Fatal(err)
				}
			}
			for i, typ := range part {
				want, ends := judged(typ, usages[i])
				counts[want]++
				histories += ends
				if stored != p {
					states += sameStored(t, stored, texts[i], want)
				}
				if agree(got[i], want) {
					continue
				}
				var text strings.Builder
				typ.source(&text, i)
				typ.plan(&text, i)
				t.Errorf("seed %d, %s: fails in ways %04b, but all interleavings in ways %04b\n%s",
					seed, texts[i], got[i], want, text.String())
			}
		}
		if done := (seed + 1) * batch; done%5000 == 0 {
			t.Logf("%d types, by how they fail: %d", done, counts)
		}
	}
	t.Logf("%d types, by how they fail: %d, %d executions, %d states, %d ends of all interleavings",
		n, counts, executions, states, histories)
	if wrong := n - counts[0]; n >= 1000 && wrong < n/20 || wrong > n/2 {
		t.Errorf("%d of %d types are wrong: they should be mixed", wrong, n)
	}
}

// agree reports whether a scenario fails as it should. Behind a data race, a panic, or a call that
// is stuck while others may wait, an execution may fail in other ways, too.
func agree(got, want failures) bool {
	return got == want || got != 0 && want&raced != 0 || got&want&panicked != 0 ||
		got&want&stuck != 0 && got == want|notLinear
}

// sameStored explores a scenario with stored states: it must fail if it fails in some way, and in
// one of these ways. It returns how many states there are.
func sameStored(t *testing.T, p *gosrc.Program, text string, want failures) uint64 {
	t.Helper()
	res, err := gotest.Scenarios(t.Context(), p, []string{text}, gotest.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := failures(0)
	switch f := res.Failure; {
	case f == nil:
	case f.Kind == gotest.Race:
		got = raced
	case f.Kind == gotest.Deadlock:
		got = stuck
	case strings.Contains(f.Message, "is not linearizable"):
		got = notLinear
	default:
		got = panicked
	}
	if res.Executions > 0 || (res.Verdict == engine.Pass) != (want == 0) ||
		got&want != got && want&(raced|panicked|stuck) == 0 {
		t.Errorf("%s, stored: %+v, %04b, but all interleavings fail in ways %04b", text, res, got,
			want)
	}
	return res.States
}

// generated compiles a package of types, with some of them in each test.
func generated(t *testing.T, list []*generatedType, together int) *gosrc.Compiled {
	t.Helper()
	var types, tests strings.Builder
	types.WriteString("package types\n\n")
	tests.WriteString("package types\n\nimport (\n\"testing\"\n\n\"cpor/check\"\n)\n\n")
	for i, typ := range list {
		if i%together == 0 {
			fmt.Fprintf(&tests, "func TestTypes%d(t *testing.T) {\n", i/together)
		}
		typ.source(&types, i)
		typ.plan(&tests, i)
		if i%together == together-1 || i == len(list)-1 {
			tests.WriteString("}\n\n")
		}
	}
	dir, err := filepath.Abs(filepath.Join("testdata", "types"))
	if err != nil {
		t.Fatal(err)
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Tests: true, Dir: dir,
		Overlay: map[string][]byte{filepath.Join(dir, "generated.go"): []byte(types.String()),
			filepath.Join(dir, "generated_test.go"): []byte(tests.String())}})
	if err != nil {
		t.Fatal(err)
	}
	if errs := pkgs[0].Errors; len(errs) > 0 {
		t.Fatal(errors.Join(errs...))
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// failing explores scenarios, and returns how each of them fails.
func failing(t *testing.T, p *gosrc.Program, texts []string) (got []failures, executions uint64) {
	t.Helper()
	s := &watched{System: p.WithScenarios(texts).System, found: make([]failures, len(texts))}
	out, err := stateless.Run(t.Context(), s, stateless.Options{Options: engine.Options{All: true,
		KeepTraces: true, Workers: 1, MaxViolations: 1 << 20}, Reduction: stateless.DPOR})
	if err != nil || out.Verdict == engine.Incomplete {
		t.Fatal(out.Reason, err)
	}
	for _, f := range out.Violations {
		s.note(f.Trace.Initial, f.Violation)
	}
	return s.found, out.Executions
}

// watched is a system that notes how its scenarios fail.
type watched struct {
	system.System
	mu    sync.Mutex
	found []failures
}

func (s *watched) note(scenario int, v *system.Violation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; v != nil; v = v.Also {
		switch m := v.Message; {
		case strings.Contains(m, "is not linearizable"):
			s.found[scenario] |= notLinear
		case strings.Contains(m, "data race"):
			s.found[scenario] |= raced
		case v.Kind == system.Deadlock:
			s.found[scenario] |= stuck
		default:
			s.found[scenario] |= panicked
		}
	}
}

// Capabilities are those of the program.
func (s *watched) Capabilities() system.Capabilities { return s.System.Capabilities() }

func (s *watched) NewMachine() system.Machine {
	return &watchedMachine{s.System.NewMachine().(*machine.Machine), s}
}

type watchedMachine struct {
	*machine.Machine
	s *watched
}

func (m *watchedMachine) Step(t int, alt uint64) system.Outcome {
	out := m.Machine.Step(t, alt)
	if out.Violation != nil {
		m.s.note(m.Scenario(), out.Violation)
	}
	return out
}
