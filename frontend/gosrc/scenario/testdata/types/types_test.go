package types

import (
	"os"
	"testing"

	"cpor/check"
)

// quick and waiting are the operations: those before -- wait nowhere.
var quick, waiting []any

func init() {
	to := &quick
	for _, arg := range os.Args[1:] {
		if arg == "--" {
			to = &waiting
			continue
		}
		code := 0
		for _, c := range arg {
			code = 10*code + int(c-'0')
		}
		*to = append(*to, code)
	}
}

// TestTypes generates no scenarios of its own: it gets them.
func TestTypes(t *testing.T) {
	check.Linearizable(t, New,
		check.Model(func() *Spec { return new(Spec) }),
		check.Op("Run", (*T).Run).Arg(0, quick...).As((*Spec).Run).Silent(),
		check.Op("Wait", (*T).Run).Arg(0, waiting...).As((*Spec).Run).MayWait(),
		check.Op("Get", (*T).Get).As(func(m *Spec) int64 { return m.s }))
}
