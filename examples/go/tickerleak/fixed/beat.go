// Package beat calls a function at intervals.
package beat

import "time"

// Beat calls a function until Stop.
type Beat struct {
	ticker *time.Ticker
	done   chan struct{}
}

// Start calls f every d.
func Start(d time.Duration, f func()) *Beat {
	b := &Beat{ticker: time.NewTicker(d), done: make(chan struct{})}
	go func() {
		for {
			select {
			case <-b.ticker.C:
				f()
			case <-b.done:
				return
			}
		}
	}()
	return b
}

// Stop ends the calls and the goroutine.
func (b *Beat) Stop() {
	b.ticker.Stop()
	close(b.done)
}
