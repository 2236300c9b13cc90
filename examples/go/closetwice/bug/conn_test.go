package conn

import "testing"

func TestClose(t *testing.T) {
	c := New()
	go c.Close()
	c.Close()
	<-c.Done()
}
