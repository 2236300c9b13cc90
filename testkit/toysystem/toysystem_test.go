package toysystem

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cpor/system"
)

// walk takes random steps and calls check with the machine before each one.
func walk(t *testing.T, seed uint64, steps int, check func(m *machine, r *rand.Rand)) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	p := Random(r, Config{Observer: seed%2 == 0})
	s, err := New(p)
	if err != nil {
		t.Fatalf("seed %d: %v\n%v", seed, err, p)
	}
	m := s.NewMachine().(*machine)
	m.Track(true)
	for range steps {
		check(m, r)
		th := r.IntN(m.NumThreads())
		mark := m.Mark()
		if out := m.Step(th, 0); out.Next != 0 && r.IntN(2) == 0 {
			m.Rewind(mark)
			m.Step(th, out.Next)
		}
		if t.Failed() {
			t.Fatalf("seed %d\n%v", seed, p)
		}
	}
}

// TestMachine checks the promises of system.Machine on random programs: undo,
// encoding, hash, self-loops, pieces, and that StepOn agrees with Step.
func TestMachine(t *testing.T) {
	var kinds [3]int
	violations, choices, created := 0, 0, 0
	for seed := range uint64(400) {
		walk(t, seed, 40, func(m *machine, r *rand.Rand) {
			other := m.NewMachine().(*machine)
			other.Track(true)
			before := m.Encode(nil)
			other.Load(before)
			if !slices.Equal(other.Encode(nil), before) || other.Hash() != m.Hash() {
				t.Error("a loaded state differs in its encoding or hash")
			}
			for th := range m.NumThreads() {
				for alt, more := uint64(0), true; more; {
					mark := m.Mark()
					out := m.Step(th, alt)
					kinds[out.Kind]++
					after := m.Encode(nil)
					accesses := slices.Clone(m.Accesses())
					if out.Kind != system.Moved && (!slices.Equal(before, after) ||
						m.Mark() != mark) {
						t.Errorf("a self-loop (%v) changed the state", out.Kind)
					}
					if out.Kind == system.Ended && len(accesses) > 0 {
						t.Error("an ended thread has accesses")
					}
					for _, a := range accesses {
						if out.Kind == system.Blocked && a.Write {
							t.Error("a blocked thread writes")
						}
					}
					if out.Violation != nil {
						violations++
					}
					if out.Next != 0 {
						choices++
					}
					if out.Created {
						created++
					}
					hash := m.Hash()
					other.Load(after)
					if hash != other.Hash() {
						t.Error("the incremental hash differs")
					}
					checkPieces(t, m, other, before, th, alt, out, accesses)
					m.Rewind(mark)
					if !slices.Equal(m.Encode(nil), before) {
						t.Error("rewinding does not bring the state back")
					}
					alt, more = out.Next, out.Next != 0
				}
			}
		})
	}
	if kinds[0] == 0 || kinds[1] == 0 || kinds[2] == 0 || violations == 0 || choices == 0 ||
		created == 0 {
		t.Errorf("the programs lack something: kinds %v, %d violations, %d choices, %d creations",
			kinds, violations, choices, created)
	}
}

// checkPieces rebuilds the effect of the last step of m from pieces: the
// thread's local part and the values of the accessed locations.
func checkPieces(t *testing.T, m, other *machine, before system.State, th int, alt uint64,
	out system.Outcome, accesses []system.Access) {
	t.Helper()
	after := m.Encode(nil)
	local := m.Local(th, nil)
	if !out.Created {
		other.Load(before)
		other.SetLocal(th, local)
		for _, a := range accesses {
			if a.Write {
				other.SetValue(a.Loc, m.Value(a.Loc))
			}
		}
		if diff := cmp.Diff(after, other.Encode(nil)); diff != "" {
			t.Errorf("the pieces of a step do not compose:\n%s", diff)
		}
		other.Rewind(0)
		if !slices.Equal(other.Encode(nil), before) {
			t.Error("SetLocal and SetValue cannot be rewound")
		}
	}

	other.Load(before)
	localBefore := other.Local(th, nil)
	values := map[system.Loc]uint64{}
	for _, a := range accesses {
		values[a.Loc] = other.Value(a.Loc)
	}
	garbage := make(system.State, len(before))
	for i := range garbage {
		garbage[i] = 1 // a number of threads, and wrong values
	}
	other.Load(garbage)
	asked := map[system.Loc]bool{}
	got := other.StepOn(th, alt, localBefore, func(l system.Loc) uint64 {
		v, ok := values[l]
		if !ok || asked[l] {
			t.Errorf("StepOn asks for location %d, which Step does not access, or asks twice", l)
		}
		asked[l] = true
		return v
	})
	if got != out || !slices.Equal(other.Accesses(), accesses) ||
		!slices.Equal(other.Local(th, nil), local) {
		t.Errorf("StepOn gives %v %v, Step %v %v", got, other.Accesses(), out, accesses)
	}
	for _, a := range accesses {
		if other.Value(a.Loc) != m.Value(a.Loc) {
			t.Errorf("StepOn leaves another value in location %d", a.Loc)
		}
	}
}

// TestAccessesAreComplete changes a location that a step did not access; the
// step must do the same.
func TestAccessesAreComplete(t *testing.T) {
	changed := 0
	for seed := range uint64(300) {
		walk(t, seed, 30, func(m *machine, r *rand.Rand) {
			th := r.IntN(m.NumThreads())
			mark := m.Mark()
			out := m.Step(th, 0)
			accesses := slices.Clone(m.Accesses())
			local := m.Local(th, nil)
			m.Rewind(mark)
			l := system.Loc(r.IntN(m.cells))
			for _, a := range accesses {
				if a.Loc == l {
					return
				}
			}
			changed++
			m.SetValue(l, m.Value(l)+1)
			if got := m.Step(th, 0); got != out || !slices.Equal(m.Accesses(), accesses) ||
				!slices.Equal(m.Local(th, nil), local) {
				t.Errorf("location %d is not among the accesses %v, but matters", l, accesses)
			}
			m.Rewind(mark)
		})
	}
	if changed < 1000 {
		t.Errorf("only %d changes", changed)
	}
}

func TestRandomIsDeterministic(t *testing.T) {
	text := func() string {
		return Random(rand.New(rand.NewPCG(7, 7)), Config{Observer: true}).String()
	}
	if a, b := text(), text(); a != b {
		t.Errorf("equal seeds give different programs:\n%s\n%s", a, b)
	}
}

func TestNoAllocations(t *testing.T) {
	p := NewProgram()
	x := p.Array("x", 0, 0)
	p.Thread("T", 1, Atomic(Store(x, Reg(0), Const(1)),
		Set(0, Bin("%", Bin("+", Reg(0), Const(1)), Const(2))), Goto(0)))
	p.Start("T")
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	m := s.NewMachine()
	m.Track(true)
	if n := testing.AllocsPerRun(100, func() {
		for range 50 {
			m.Step(0, 0)
		}
		m.Rewind(0)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNewRejects(t *testing.T) {
	for _, tt := range []struct {
		want string
		make func(p *Program)
	}{
		{"no thread is started", func(p *Program) {}},
		{"no such thread", func(p *Program) { p.Start("T") }},
		{"declared twice", func(p *Program) { p.Thread("T", 0); p.Thread("T", 0); p.Start("T") }},
		{"has no cell", func(p *Program) { p.Array("x") }},
		{"without a case", func(p *Program) { p.Thread("T", 0, Node{}) }},
		{"no register 1", func(p *Program) { p.Thread("T", 1, Atomic(Set(0, Reg(1)))) }},
		{"no register 3", func(p *Program) { p.Thread("T", 1, Atomic(Set(3, Const(0)))) }},
		{"no node 2", func(p *Program) { p.Thread("T", 1, Atomic(Goto(2))) }},
		{"no thread U", func(p *Program) { p.Thread("T", 1, Atomic(Spawn("U"))) }},
		{"too many arguments", func(p *Program) { p.Thread("T", 0, Atomic(Spawn("T", Const(1)))) }},
		{"too many arguments", func(p *Program) { p.Thread("T", 0); p.Start("T", 1) }},
		{"no operator ^", func(p *Program) {
			p.Thread("T", 0, Await(Bin("^", Const(1), Const(1))))
		}},
	} {
		p := NewProgram()
		tt.make(p)
		if _, err := New(p); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v", tt.want, err)
		}
	}
}

// TestFailures steps threads into each kind of failure: they end, each in a
// local state of its own.
func TestFailures(t *testing.T) {
	p := NewProgram()
	x := p.Array("x", 0)
	p.Thread("Index", 0, Atomic(Store(x, Const(1), Const(1))))
	p.Thread("Mod", 0, Await(Bin("%", Const(1), Load(x, nil))))
	p.Thread("Spawn", 0, Atomic(Spawn("Spawn")))
	p.Thread("Unlock", 0, Unlock(x, nil))
	p.Thread("Assert", 0, Atomic(Assert(Load(x, nil), "x is 0")))
	for _, th := range p.threads {
		p.Start(th.name)
	}
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"runtime: index out of range", "runtime: remainder by zero",
		"runtime: too many threads", "runtime: unlock of a lock that is not held",
		"assertion: x is 0"}
	m := s.NewMachine()
	for th := range want {
		if _, _, ok := m.Next(th); !ok {
			t.Errorf("%s has ended before", m.ThreadName(th))
		}
		out := m.Step(th, 0)
		if out.Violation == nil {
			t.Errorf("no violation in thread %d", th)
			continue
		}
		if got := string(out.Violation.Kind) + ": " + out.Violation.Message; got != want[th] {
			t.Errorf("got %q, want %q", got, want[th])
		}
		if got := m.Step(th, 0); got.Kind != system.Ended {
			t.Errorf("thread %d goes on after its violation: %v", th, got)
		}
	}
}

func TestNames(t *testing.T) {
	p := NewProgram()
	x := p.Scalar("x", 5)
	a := p.Array("a", 1, 2)
	p.Thread("T", 1, Atomic(Store(a, Reg(0), Load(x, nil))))
	p.Invariant("small", Bin("<", Load(x, nil), Const(9)))
	p.Start("T", 1)
	p.Start("T")
	p.Start("small")
	s, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	m := s.NewMachine()
	pos, text, _ := m.Next(0)
	got := []string{m.ThreadName(0), m.ThreadName(1), m.LocName(0), m.LocName(2), m.LocName(3),
		m.LocName(4), m.ValueString(2), pos.File, text, m.Locals(0)[0].Value}
	want := []string{"T[0]", "T[1]", "x", "a[1]", "threads", "thread 0", "2", "T", "{ a[r0] = x }",
		"1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if o := system.ObserversOf(s); o.Has(0) || !o.Has(2) || o.Has(7) || !o.Any() {
		t.Error("the observer is not thread 2 alone")
	}
}
