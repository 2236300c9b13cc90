// Package request asks for something and waits a limited time.
package request

import (
	"errors"
	"time"
)

// ErrTimeout means that no answer came in time.
var ErrTimeout = errors.New("request: timeout")

// Do returns what ask returns, or ErrTimeout. After a timeout the goroutine
// waits forever: nobody receives its answer.
func Do(ask func() string, d time.Duration) (string, error) {
	answer := make(chan string)
	go func() { answer <- ask() }()
	select {
	case a := <-answer:
		return a, nil
	case <-time.After(d):
		return "", ErrTimeout
	}
}
