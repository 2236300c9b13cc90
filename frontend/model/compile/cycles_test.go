package compile

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestCycles compares the cycles of random segments with what reachability says.
func TestCycles(t *testing.T) {
	const programs = 500
	random := rand.New(rand.NewPCG(1, 2))
	cyclic, straight := 0, 0
	for range programs {
		p := &Program{Code: make([]Instr, 1+random.IntN(12))}
		for i := range p.Code {
			op := []Op{OpLoad, OpLoad, OpJmp, OpJt, OpBlock}[random.IntN(5)]
			p.Code[i] = Instr{Op: op, A: int32(random.IntN(len(p.Code)))}
		}
		p.Code = append(p.Code, Instr{Op: OpBlock})
		code := p.reach(random.IntN(len(p.Code)), false)
		got := p.cycles(code)
		for _, at := range code {
			want := slices.ContainsFunc(p.next(at, nil), func(s int) bool {
				return slices.Contains(p.reach(s, false), at)
			})
			if got(at) != want {
				t.Fatalf("%v: instruction %d is in a cycle: %v, want %v", p.Code, at, got(at), want)
			}
			if want {
				cyclic++
			} else {
				straight++
			}
		}
	}
	if cyclic < programs/2 || straight < programs/2 {
		t.Errorf("%d instructions in cycles and %d in none are too few", cyclic, straight)
	}
}
