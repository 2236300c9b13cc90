package gotest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/testkit/gogen"
)

// TestLostNeverMove takes random steps of random concurrent programs: who is said to wait for
// ever must not take a step any more, whatever the others do. The goroutines of these programs
// share all they have, so that finer ways to reach something are for TestTails.
func TestLostNeverMove(t *testing.T) {
	n, walks := cmp.Or(*generated, sample.Of(10, 10, 120)), 20
	var src strings.Builder
	src.WriteString(
		"package m\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n\t\"testing\"\n)\n\nvar _ " +
			"sync.Mutex\nvar _ atomic.Int64\n")
	for i := range uint64(n) {
		s := *seed + i
		p := gogen.NewConcurrent(rand.New(rand.NewPCG(s, 9)), gogen.Shape{Goroutines: 2 + int(s%2),
			Steps: 4, Vars: s%5 == 0, Polls: s%3 == 0, RW: s%4 < 2})
		_, body, _ := strings.Cut(p.Source(), "func main()")
		fmt.Fprintf(&src, "\nfunc Test%d(*testing.T)%s", s, body)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n",
		"a_test.go": src.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	said, beside := 0, 0 // how often somebody was lost, and others took steps after that
	for i := range uint64(n) {
		name := fmt.Sprint("Test", *seed+i)
		p, err := c.Test(name, gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		for walk := range uint64(walks) {
			a, b := walkLost(t, p, name, rand.New(rand.NewPCG(*seed+i, walk)))
			said, beside = said+a, beside+b
		}
	}
	t.Logf("%d times somebody was lost, and others took %d steps after that", said, beside)
	// A small sample can promise no more.
	if enough := cmp.Or(n*min(n/20, 1), 1); said < enough || beside < enough {
		t.Error("hardly anybody was lost while others went on")
	}
	if t.Failed() {
		t.Log(src.String())
	}
}

// walkLost takes one execution. It returns how many goroutines were said to be lost in it,
// and how many steps others took then.
func walkLost(t *testing.T, p *gosrc.Program, name string, r *rand.Rand) (said, beside int) {
	m := p.NewMachine().(*machine.Machine)
	lost := map[int]bool{}
	for range 200 {
		for _, g := range m.Lost(nil) {
			lost[g] = true
		}
		type move struct {
			thread int
			alt    uint64
		}
		var moves []move
		for g := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				mark := m.Mark()
				out := m.Step(g, alt)
				m.Rewind(mark)
				if out.Kind == system.Moved {
					moves = append(moves, move{g, alt})
					if lost[g] {
						t.Fatalf("%s: goroutine %d was lost, and takes a step", name, g)
					}
				}
				alt, more = out.Next, out.Next != 0
			}
		}
		if len(moves) == 0 {
			break
		}
		mv := moves[r.IntN(len(moves))]
		if out := m.Step(mv.thread, mv.alt); out.Violation != nil {
			break
		}
		if len(lost) > 0 {
			beside++
		}
	}
	return len(lost), beside
}
