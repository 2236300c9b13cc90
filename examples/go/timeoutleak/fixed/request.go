// Package request asks for something and waits a limited time.
package request

import (
	"errors"
	"time"
)

// ErrTimeout means that no answer came in time.
var ErrTimeout = errors.New("request: timeout")

// Do returns what ask returns, or ErrTimeout. The channel has room
// for the answer that nobody waits for.
func Do(ask func() string, d time.Duration) (string, error) {
	answer := make(chan string, 1)
	go func() { answer <- ask() }()
	select {
	case a := <-answer:
		return a, nil
	case <-time.After(d):
		return "", ErrTimeout
	}
}
