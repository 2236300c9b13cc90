package temporal

// trial finds out whether looking for ample sets pays. Where they are rare, only a sample of the
// states is examined, and the others are expanded in full, which is just as sound. The sample
// shows when ample sets become frequent. Where they stay rare, none are sought any more.
type trial struct {
	sampling    bool
	seen, found int // of the window: states with a choice, and ample sets
	skipped     int
	every       int // one state in so many is examined, while sampling
	rare        int // windows in a row, while sampling, that had too few
}

const (
	// Fewer ample sets than one in trialWorth states are rarely worth looking for: most states that
	// they leave out are reached in another way, too (docs/design/reductions.md).
	trialWorth = 5
	// briefWorth is the same if the driver of the full search waits, which takes less than half as
	// long for a state.
	briefWorth = 2
	// rarest is the largest number of states of which one is examined. Each examination costs
	// several ordinary expansions.
	rarest = 256
	// enough is after how many windows of a sample with too few ample sets the search seeks none
	// any more. It takes some ten thousand states, and then costs as much as without a
	// reduction.
	enough = 3
	// hasty divides the states that are looked at before the driver of the full search goes on.
	hasty = 4
)

// pace says when a search begins with what only large ones need. Tests use an earlier time.
var pace = struct {
	// compile is how many transitions an expander executes before code is compiled, walk how many
	// a worker executes before the first walk.
	compile, walk uint64
	// A window is of that many states with a choice of which every one is looked at. Afterwards
	// one in sampleEvery is, and sample of them decide again; half as many are looked at each
	// time that ample sets are still rare.
	window, sample, sampleEvery int
}{compile: 1 << 13, walk: 1 << 11, window: 1 << 10, sample: 1 << 6, sampleEvery: 32}

// next reports whether to look for an ample set of the next state.
func (x *trial) next() bool {
	if !x.sampling {
		return true
	}
	if x.skipped++; x.skipped < x.every {
		return false
	}
	x.skipped = 0
	return true
}

// told records whether there was one. It reports whether to give up for good. brief says that
// without ample sets the driver of the full search goes on, which gains more than the search itself
// would: then it decides earlier.
func (x *trial) told(found, brief bool) (over bool) {
	x.seen++
	if found {
		x.found++
	}
	window, every, worth := pace.window, pace.sampleEvery, trialWorth
	if brief {
		window, every, worth = window/hasty, every/hasty, briefWorth
	}
	if x.sampling {
		window = pace.sample
	}
	if x.seen < window {
		return false
	}
	was := x.sampling
	if x.sampling = x.found*worth < x.seen; was && x.sampling {
		x.every = min(2*x.every, max(rarest, every))
		x.rare++
	} else {
		x.every, x.rare = every, 0
	}
	x.seen, x.found = 0, 0
	return x.rare == enough
}
