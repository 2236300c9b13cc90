package temporal

// trial finds out whether looking for ample sets is worth its time. Where they are hardly ever
// found, only a sample of the states is looked at, and the others are expanded in full,
// which is as sound. The sample shows when the search comes to where they are found.
type trial struct {
	sampling    bool
	seen, found int // of the window: states with a choice, and ample sets
	skipped     int
}

const (
	// A window is of so many states of which every one is looked at; fewer ample sets than
	// one in trialWorth are not worth it.
	trialWindow, trialWorth = 1 << 10, 32
	// Afterwards one state in sampleEvery is looked at. sampleWindow of them decide again.
	sampleEvery, sampleWindow = 32, 1 << 6
)

// next tells whether to look for an ample set of the next state.
func (x *trial) next() bool {
	if !x.sampling {
		return true
	}
	if x.skipped++; x.skipped < sampleEvery {
		return false
	}
	x.skipped = 0
	return true
}

// told notes whether there was one.
func (x *trial) told(found bool) {
	x.seen++
	if found {
		x.found++
	}
	window := trialWindow
	if x.sampling {
		window = sampleWindow
	}
	if x.seen < window {
		return
	}
	x.sampling = x.found*trialWorth < x.seen
	x.seen, x.found = 0, 0
}
