package lazyregexp_test

import (
	"testing"

	"cpor/internal/lazyregexp"
)

func TestNew(t *testing.T) {
	digits := lazyregexp.New(`[0-9]+`)
	if digits() != digits() {
		t.Error("compiled twice")
	}
	if got := digits().FindString("a12b"); got != "12" {
		t.Errorf("found %q", got)
	}
	wrong := lazyregexp.New(`[`)
	defer func() {
		if recover() == nil {
			t.Error("no panic for a mistake")
		}
	}()
	wrong()
}
