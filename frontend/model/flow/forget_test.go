package flow

import (
	"os"
	"testing"

	"cpor/frontend/model/compile"
	"cpor/frontend/model/resolve"
	"cpor/frontend/source"
)

// TestForget lets analyses forget what they know after some values, or at once: what they
// answer then covers what they answer otherwise, and is less exact somewhere.
func TestForget(t *testing.T) {
	questions, same := 0, 0
	for _, name := range models(t) {
		p := program(t, name)
		exact, coarse := New(p), New(p)
		for pt := range p.Points {
			if p.Points[pt].Ended {
				continue
			}
			for _, most := range []int{-1, 5 * int(p.NumReg)} {
				coarse.most, coarse.kept = most, 0
				zero := func(*compile.Var) int64 { return 0 }
				want, got := newOps(p), newOps(p)
				want.join(exact.From(pt, zero))
				got.join(coarse.From(pt, zero))
				questions++
				before := newOps(p)
				before.join(got)
				if got.join(want) {
					t.Errorf("%s, point %d, most %d: what is forgotten hides an operation", name,
						pt, most)
				} else if !want.join(before) {
					same++
				}
			}
		}
		for _, tt := range p.Threads {
			a := New(p).separating()
			a.most = -1
			forgot := a.reads(tt.Entry)
			if forgot.join(Analyse(p, nil).Reads(tt.Entry)) {
				t.Errorf("%s, %s: what is forgotten hides an operation", name, tt.Name)
			}
		}
	}
	if same == questions {
		t.Errorf("none of %d answers was less exact", questions)
	}
	t.Logf("%d of %d answers are the same", same, questions)
}

// program compiles a model.
func program(t *testing.T, name string) *compile.Program {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := resolve.Check(source.New(name, string(text)), resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := compile.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
