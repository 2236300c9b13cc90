package request

import (
	"testing"
	"time"
)

func TestDo(t *testing.T) {
	got, err := Do(func() string { return "pong" }, time.Second)
	if err == nil && got != "pong" {
		t.Errorf("got %q", got)
	}
}
