package debounce

import "testing"

func TestClose(t *testing.T) {
	d := New()
	d.Event("key")
	d.Close()
	for s := range d.C {
		if s != "key" {
			t.Errorf("got %q", s)
		}
	}
}
