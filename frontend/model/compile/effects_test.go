package compile

import "testing"

// TestEffects checks that the table of effects is not at odds with itself.
func TestEffects(t *testing.T) {
	for op := range numOps {
		e := op.Effect()
		for i, r := range e.Regs {
			if r != 'r' && r != 'w' && r != '-' || r == 'w' && i > 0 {
				t.Errorf("operation %d: the registers are %q", op, e.Regs)
			}
		}
		if (e.Loc != 0) != (e.Locs > 0) || (e.Loc != 0) != (e.Read || e.Write) {
			t.Errorf("operation %d: %d locations in operand %q, read %v, write %v", op, e.Locs,
				e.Loc, e.Read, e.Write)
		}
		if e.Loc != 0 && e.Regs[e.Loc-'A'] != 'r' {
			t.Errorf("operation %d: the location is not in a register that is read", op)
		}
		if e.WritesA() && e.Flow != OnFlow {
			t.Errorf("operation %d computes and jumps", op)
		}
	}
	seen := map[any]bool{}
	for i, op := range ArithOps {
		if seen[op] {
			t.Errorf("operator %d appears twice", i)
		}
		seen[op] = true
	}
}
