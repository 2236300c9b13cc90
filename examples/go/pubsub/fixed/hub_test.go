package hub

import "testing"

func TestUnsubscribe(t *testing.T) {
	h := New()
	s := h.Subscribe()
	done := make(chan bool)
	go func() {
		defer close(done)
		h.Publish("one")
		h.Publish("two")
	}()
	if got := <-s.C; got != "one" {
		t.Errorf("got %q", got)
	}
	s.Unsubscribe()
	<-done
}
