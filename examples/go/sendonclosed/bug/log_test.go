package asynclog

import "testing"

func TestClose(t *testing.T) {
	l := New()
	logged := make(chan error, 1)
	go func() { logged <- l.Log("hello") }()
	got := l.Close()
	if err := <-logged; (err == nil) != (len(got) == 1) {
		t.Errorf("Log returned %v, the logger has %q", err, got)
	}
}
