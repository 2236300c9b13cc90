package machine

import (
	"path/filepath"
	"testing"

	"cpor/frontend/promela/program"
)

// examples are the models of examples/promela, with the counts that SPIN 6.5.2
// printed: -o1 -o2 -o3, -DSAFETY -DNOREDUCE, -c0.
var examples = []struct {
	name    string
	defines map[string]string
	want    counts
}{
	{"peterson_n", map[string]string{"N": "2"}, counts{485, 452, 0}},
	{"leader", map[string]string{"N": "3"}, counts{643, 906, 0}},
	{"window", map[string]string{"W": "1", "M": "2", "C": "1"}, counts{1510, 1892, 0}},
	{"philosophers", map[string]string{"N": "3"}, counts{124, 162, 0}},
	{"philosophers", map[string]string{"N": "3", "BUG": "1"}, counts{52, 58, 1}},
	{"sort", map[string]string{"N": "3"}, counts{462, 697, 0}},
	{"readers", map[string]string{"R": "2", "W": "1"}, counts{149, 105, 0}},
	{"transfer", map[string]string{"K": "2", "P": "1"}, counts{38, 6, 0}},
}

// example loads a model of examples/promela.
func example(t testing.TB, name string, defines map[string]string) *System {
	t.Helper()
	m, err := parseFile(filepath.Join("..", "..", "..", "examples", "promela", name+".pml"),
		defines)
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Resolve(m)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestExamples(t *testing.T) {
	for _, x := range examples {
		s := example(t, x.name, x.defines)
		for _, track := range []bool{false, true} {
			if got, _ := countFailed(s, track); got != x.want {
				t.Errorf("%s %v: %+v, SPIN %+v (tracking: %v)", x.name, x.defines, got, x.want,
					track)
			}
		}
	}
}

// TestSteadyState pins that a search allocates nothing for a step.
func TestSteadyState(t *testing.T) {
	for _, x := range examples {
		s := example(t, x.name, x.defines)
		m := s.newMachine()
		buf := m.Encode(nil)
		walk := func() {
			m.Load(s.initial[0])
			for range 60 {
				mark := m.Mark()
				moved := false
				for u := range m.NumThreads() {
					for alt, more := uint64(0), true; more; {
						out := m.Step(u, alt)
						buf = m.Encode(buf)
						m.Rewind(mark)
						alt, more = out.Next, out.Next != 0
						moved = moved || out.Kind == 0
					}
				}
				if !moved {
					break
				}
				for u := range m.NumThreads() {
					if m.Step(u, 0).Kind == 0 {
						break
					}
				}
			}
		}
		walk()
		if n := testing.AllocsPerRun(5, walk); n > 0 {
			t.Errorf("%s: %v allocations", x.name, n)
		}
	}
}

// BenchmarkSteps measures a step of the machine alone: every process of states
// along one way through a model.
func BenchmarkSteps(b *testing.B) {
	for _, x := range examples {
		b.Run(x.name, func(b *testing.B) {
			s := example(b, x.name, x.defines)
			m := s.newMachine()
			b.ReportAllocs()
			m.Load(s.initial[0])
			for i := 0; b.Loop(); i++ {
				n := m.NumThreads()
				if i%100 == 99 || n == 0 {
					m.Load(s.initial[0])
					continue
				}
				if i%3 == 0 {
					m.Step(i/3%n, 0)
					continue
				}
				mark := m.Mark()
				m.Step(i/3%n, 0)
				m.Rewind(mark)
			}
		})
	}
}
