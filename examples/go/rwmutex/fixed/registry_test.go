package registry

import "testing"

func TestTotal(t *testing.T) {
	r := New()
	r.Set("tea", 3)
	done := make(chan bool)
	go func() {
		r.Set("milk", 1)
		close(done)
	}()
	if got := r.Total("tea", "milk"); got != 3 && got != 4 {
		t.Errorf("got %d", got)
	}
	<-done
}
