package hits

import "testing"

func TestCount(t *testing.T) {
	c := New()
	done := make(chan bool)
	go func() {
		defer close(done)
		c.Add("/index")
	}()
	if n := c.Count("/index"); n > 1 {
		t.Errorf("%d hits", n)
	}
	<-done
	if n := c.Count("/index"); n != 1 {
		t.Errorf("%d hits, want 1", n)
	}
}
