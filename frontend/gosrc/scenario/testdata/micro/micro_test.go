package micro

import (
	"testing"

	"cpor/check"
)

// TestMicro generates no scenarios of its own: it gets them.
func TestMicro(t *testing.T) {
	var codes []any
	for x, i := uint32(1), 0; i < 64; i++ { // as in package scenario's TestMicro
		x = x*1664525 + 1013904223
		code := 0
		for k := range 1 + x>>30 {
			if k < 3 {
				code = code*8 + 1 + int(x>>(8+5*k)%7)
			}
		}
		codes = append(codes, code)
	}
	check.Linearizable(t, func() *T { return new(T) },
		check.Op("Run", (*T).Run).Arg(0, codes...).Silent())
}

func TestSlot(t *testing.T) {
	t.Log("it may be taken twice")
	check.Linearizable(t, func() *Slot { return new(Slot) },
		check.Op("Put", (*Slot).Put),
		check.Op("Take", (*Slot).Take).Silent(),
		check.Bounds{Goroutines: 2, Prefix: -1})
}

// TestForgotten does not say that Wait may wait.
func TestForgotten(t *testing.T) {
	check.Linearizable(t, func() *Slot { return new(Slot) }, check.Op("Wait", (*Slot).Wait))
}
