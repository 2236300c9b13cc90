// Package beat calls a function at intervals.
package beat

import "time"

// Beat calls a function until Stop.
type Beat struct {
	ticker *time.Ticker
}

// Start calls f every d.
func Start(d time.Duration, f func()) *Beat {
	b := &Beat{ticker: time.NewTicker(d)}
	go func() {
		for range b.ticker.C {
			f()
		}
	}()
	return b
}

// Stop ends the calls. A ticker that is stopped does not close its channel: the
// goroutine waits forever.
func (b *Beat) Stop() { b.ticker.Stop() }
