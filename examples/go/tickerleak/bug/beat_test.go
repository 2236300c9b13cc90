package beat

import (
	"testing"
	"time"
)

func TestStop(t *testing.T) {
	beats := make(chan bool, 1)
	b := Start(time.Millisecond, func() {
		select {
		case beats <- true:
		default:
		}
	})
	<-beats
	b.Stop()
}
