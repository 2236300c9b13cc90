package check

import "time"

// Config says how hard to explore, and what. The zero value has the defaults of [Every].
type Config struct {
	// Timeout ends the exploration as incomplete; 0 means 30 seconds, 5 minutes for
	// [Linearizable], or what go test's -timeout leaves, if that is less.
	Timeout time.Duration
	// Workers is the number of workers; 0 means one for each CPU.
	Workers int
	// MaxMemory ends the exploration before the process takes more bytes; 0 means no
	// limit.
	MaxMemory uint64
	// TimeIdle lets timers fire only when no goroutine can run. Otherwise time may
	// pass at any point, as on a slow machine.
	TimeIdle bool
	// Leaks accepts goroutines that wait forever after the end of the test.
	Leaks bool
	// Incomplete accepts an exploration that has not covered every schedule, if none
	// of those it covered fails. The test's log says what was covered.
	Incomplete bool
}
