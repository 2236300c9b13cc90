package division

import (
	"bytes"
	"flag"
	"slices"
	"strings"
	"testing"

	"cpor/benchmarks"
	"cpor/frontend"
	_ "cpor/frontend/model"
	_ "cpor/frontend/promela"
	"cpor/system"
)

var figures = flag.Bool("figures", false, "compare what samples say of divisions with what is so")

// load returns a model of benchmarks; file has its extension.
func load(t testing.TB, file, params string) system.System {
	t.Helper()
	ps, err := benchmarks.ParseParams(params)
	if err != nil {
		t.Fatal(err)
	}
	name, isModel := strings.CutSuffix(file, ".model")
	read := benchmarks.Model
	if !isModel {
		name, read = strings.TrimSuffix(file, ".pml"), benchmarks.Promela
	}
	text, err := read(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := frontend.Read(file, bytes.NewReader(text), frontend.Options{Params: ps.Map()})
	if err != nil {
		t.Fatal(err)
	}
	return p.System
}

// explore calls f for all states and transitions of a system.
func explore(sys system.System, state func(s system.State), moved func(s, end system.State)) {
	m := sys.NewMachine()
	seen := map[string]bool{}
	var todo []system.State
	put := func(s system.State) {
		var b []byte
		for _, w := range s {
			for ; w != 0; w >>= 8 {
				b = append(b, byte(w))
			}
			b = append(b, 0xff, 0xfe)
		}
		if k := string(b); !seen[k] {
			seen[k] = true
			todo = append(todo, slices.Clone(s))
		}
	}
	for _, s := range sys.Initial() {
		put(s)
	}
	var end system.State
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		state(s)
		m.Load(s)
		mark := m.Mark()
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				out := m.Step(t, alt)
				if out.Kind == system.Moved {
					end = m.Encode(end)
					moved(s, end)
					put(end)
				}
				m.Rewind(mark)
				alt, more = out.Next, out.Kind == system.Moved && out.Next != 0
			}
		}
	}
}

// TestFigures prints, for samples of several seeds, what they say of the division that is chosen
// and what is so: the part of the transitions that lead to another part, and the largest part in
// terms of the mean.
func TestFigures(t *testing.T) {
	if !*figures {
		t.Skip("measures only with -figures")
	}
	for _, m := range [][2]string{
		{"robots.model", "R=3"}, {"indexer.model", "N=8"}, {"filesystem.model", "N=6"},
		{"philosophers.model", "N=10"},
		{"cmis.model", ""}, {"sharedptr.model", ""}, {"indexer.pml", ""}, {"filesystem.pml", ""},
	} {
		sys := load(t, m[0], m[1])
		type one struct {
			n           int
			d           *Division
			said        Chosen
			moves, left int
			has         []int
		}
		var all []*one
		for _, n := range []int{2, 8, 64} {
			for seed := range uint64(3) {
				d, said := Choose(sys, n, Options{seed: seed})
				all = append(all, &one{n: n, d: d, said: said, has: make([]int, n)})
			}
		}
		states := 0
		explore(sys, func(s system.State) {
			states++
			for _, o := range all {
				o.has[o.d.Part(s, o.n)]++
			}
		}, func(s, end system.State) {
			for _, o := range all {
				o.moves++
				if o.d.Part(s, o.n) != o.d.Part(end, o.n) {
					o.left++
				}
			}
		})
		for _, o := range all {
			t.Logf(
				"%s %s: %2d parts by %2d words: leave %.3f (said %.3f), largest %.3f (said %.3f)",
				m[0], m[1], o.n, len(o.d.Fields),
				float64(o.left)/float64(o.moves), o.said.Leave,
				float64(slices.Max(o.has)*o.n)/float64(states), o.said.Largest)
		}
	}
}
