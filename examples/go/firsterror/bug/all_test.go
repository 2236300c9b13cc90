package all

import (
	"errors"
	"testing"
)

func TestRun(t *testing.T) {
	bad := errors.New("bad")
	err := Run(
		func() error { return nil },
		func() error { return bad },
	)
	if !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
}
