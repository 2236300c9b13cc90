package machine

import (
	"os"
	"path/filepath"
	"testing"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

// explore takes some steps of a model's first states.
func explore(s *System, states int) {
	m := s.newMachine()
	m.Track(true)
	work := []system.State{s.initial[0]}
	for i := 0; i < len(work) && i < states; i++ {
		m.Load(work[i])
		mark := m.Mark()
		for t := range m.NumThreads() {
			m.Next(t)
			m.Locals(t)
			for alt, k := uint64(0), 0; k < 20; k++ {
				out := m.Step(t, alt)
				for _, a := range m.Accesses() {
					m.LocName(a.Loc)
					m.ValueString(a.Loc)
					m.Internal(a.Loc)
				}
				if m.fatal {
					return
				}
				if out.Kind == system.Moved {
					m.Told()
					work = append(work, m.Encode(nil))
				}
				m.Rewind(mark)
				if out.Kind != system.Moved || out.Next == 0 {
					break
				}
				alt = out.Next
			}
		}
	}
}

// FuzzModel feeds texts to everything: each is refused with a message, or its
// first states can be explored.
func FuzzModel(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(micro, "*.pml"))
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(string(b))
		}
	}
	for seed := range uint64(20) {
		f.Add(generate(seed))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<13 {
			return
		}
		m, err := syntax.Parse(source.New("fuzz.pml", text), nil)
		if err == nil {
			var p *program.Program
			if p, err = program.Resolve(m); err == nil {
				for _, merged := range []bool{false, true} {
					var s *System
					if s, err = New(p, Options{Merged: merged}); err == nil {
						explore(s, 50)
					}
				}
			}
		}
		if err != nil && err.Error() == "" {
			t.Error("refused without a message")
		}
	})
}
