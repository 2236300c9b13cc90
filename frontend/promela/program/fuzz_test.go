package program

import (
	"os"
	"path/filepath"
	"testing"

	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
)

// FuzzResolve: what can be parsed is resolved, with automata whose edges lead to
// states, or refused with a message.
func FuzzResolve(f *testing.F) {
	files, _ := filepath.Glob("../machine/testdata/micro/*.pml")
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(string(b))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<13 {
			return
		}
		m, err := syntax.Parse(source.New("fuzz.pml", text), nil)
		if err != nil {
			return
		}
		p, err := Resolve(m)
		if err != nil {
			if err.Error() == "" {
				t.Error("refused without a message")
			}
			return
		}
		p.OrderEscapes(true)
		p.OrderEscapes(false)
		for _, pr := range append(p.Procs, p.Claims...) {
			for i, s := range pr.States {
				if s.ID != i {
					t.Fatalf("state %d of %s has the number %d", i, pr.Name, s.ID)
				}
				for _, e := range s.Edges {
					if e.To != nil && (e.To.ID < 0 || e.To.ID >= len(pr.States) ||
						pr.States[e.To.ID] != e.To) {
						t.Fatalf("an edge of %s leads nowhere: %s", pr.Name, e.Text)
					}
				}
			}
		}
	})
}
