package pool

import "testing"

func TestShutdown(t *testing.T) {
	p := New(2)
	p.Submit(func() int { return 6 * 7 })
	got := p.Shutdown()
	if len(got) != 1 || got[0] != 42 {
		t.Errorf("got %v, want [42]", got)
	}
}
