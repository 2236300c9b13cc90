//go:build !unix

package statestore

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
