package gate

import "testing"

func TestWait(t *testing.T) {
	g := New()
	go g.Open()
	g.Wait()
}
