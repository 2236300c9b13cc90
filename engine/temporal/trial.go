package temporal

// trial finds out whether looking for ample sets is worth its time. Where they are hardly ever
// found, only a sample of the states is looked at, and the others are expanded in full,
// which is as sound. The sample shows when the search comes to where they are found.
type trial struct {
	sampling    bool
	seen, found int // of the window: states with a choice, and ample sets
	skipped     int
}

// Fewer ample sets than one in trialWorth states are not worth looking for.
const trialWorth = 32

// pace says from when on a search does what only large ones need. Tests hurry.
var pace = struct {
	// compile is how many transitions an expander executes before code is compiled, walk how many
	// a worker executes before the first walk.
	compile, walk uint64
	// A window is of so many states with a choice of which every one is looked at. Afterwards one
	// in sampleEvery is, and sample of them decide again.
	window, sample, sampleEvery int
}{compile: 1 << 13, walk: 1 << 13, window: 1 << 10, sample: 1 << 6, sampleEvery: 32}

// next tells whether to look for an ample set of the next state.
func (x *trial) next() bool {
	if !x.sampling {
		return true
	}
	if x.skipped++; x.skipped < pace.sampleEvery {
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
	window := pace.window
	if x.sampling {
		window = pace.sample
	}
	if x.seen < window {
		return
	}
	x.sampling = x.found*trialWorth < x.seen
	x.seen, x.found = 0, 0
}
