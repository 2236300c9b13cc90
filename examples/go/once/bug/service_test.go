package service

import "testing"

func TestGet(t *testing.T) {
	var s Service
	if got := s.Get("x"); got != "value of x" {
		t.Errorf("got %q", got)
	}
}
