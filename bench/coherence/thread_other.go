//go:build !linux

package coherence

import "time"

// pin is for Linux only.
func pin(int) {}

// threadTime is for Linux only.
func threadTime() (time.Duration, bool) { return 0, false }
