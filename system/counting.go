package system

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
)

// Counting is implemented by systems whose machines count what they execute. Only the front end
// knows what each counter means. All processes that load the same program have the same counters,
// so their counts can be added.
//
// A machine counts each step that is executed and not found blocked, also in the replay of a trace.
// So whatever has a count was executed in some reachable state. Whether something without a count
// cannot be executed is for the engine to say ([engine.Preserved]).
type Counting interface {
	// Executed returns the counts of all machines of the system, with what AddExecuted was told.
	// It must not be called while a machine is running.
	Executed() []uint64
	// AddExecuted adds what another process has counted.
	AddExecuted(counts []uint64)
}

// Counters implements [Counting] for systems that embed it: a slice of counters for each machine,
// so that machines count without a lock, and the sums. It must not be copied.
type Counters struct {
	mu       sync.Mutex
	machines [][]uint64
	others   []uint64 // what AddExecuted was told
	before   []uint64 // see StartCounting
	later    []func() // see CountLater

	round atomic.Uint32        // how often CountedSoFar has asked
	told  map[*uint64][]uint64 // what machines told last, by their first counter
}

// StartCounting resets all counts and makes n counters. It returns the counters for what runs
// before there is an initial state. Every process that loads the program executes that itself, so
// it is in Counted but not in Executed.
func (c *Counters) StartCounting(n int) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.machines, c.others, c.before, c.later = nil, make([]uint64, n), make([]uint64, n), nil
	return c.before
}

// CountMachine returns the counters of one more machine, which alone writes them.
func (c *Counters) CountMachine() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := make([]uint64, len(c.others))
	c.machines = append(c.machines, own)
	return own
}

// CountLater is called by a machine that does not add all it counts to its counters at once: add
// does, and is called when no machine is running.
func (c *Counters) CountLater(add func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.later = append(c.later, add)
}

// Executed implements [Counting].
func (c *Counters) Executed() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, add := range c.later {
		add()
	}
	sum := slices.Clone(c.others)
	for _, m := range c.machines {
		add(sum, m)
	}
	return sum
}

// AddExecuted implements [Counting].
func (c *Counters) AddExecuted(counts []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(c.others, counts)
}

// Counted returns Executed plus what was executed before there was an initial state.
func (c *Counters) Counted() []uint64 {
	sum := c.Executed()
	add(sum, c.before)
	return sum
}

// CountedSoFar is Counted while machines are running. It asks every machine to report its counts,
// which the machine does in its next step, and returns the reports of the previous call.
func (c *Counters) CountedSoFar() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := slices.Clone(c.others)
	for _, m := range c.told {
		add(sum, m)
	}
	add(sum, c.before)
	for i := range sum {
		if int64(sum[i]) < 0 { // what AddExecuted took back was not told yet
			sum[i] = 0
		}
	}
	c.round.Add(1)
	return sum
}

// Round changes when machines are asked to report their counts. It is cheap: machines look at it in
// every step.
func (c *Counters) Round() uint32 { return c.round.Load() }

// Tell reports the counts of a machine in own, which [Counters.CountMachine] made.
func (c *Counters) Tell(own []uint64) {
	if len(own) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told == nil {
		c.told = map[*uint64][]uint64{}
	}
	c.told[&own[0]] = append(c.told[&own[0]][:0], own...)
}

// Tallies is what steps of a machine have counted, a list of counters each, so that one of
// which nothing but the outcome is known can be counted again. The zero value is empty.
type Tallies struct {
	numbers map[string]int
	lists   [][]int32 // by number
	again   []uint64  // by number: how many times to add it
	key     []byte
}

// maxTallies bounds how many lists there are.
const maxTallies = 1 << 16

// Number returns the number of a list of counters. ok is false if there are too many lists.
func (y *Tallies) Number(counters []int32) (number int, ok bool) {
	y.key = y.key[:0]
	for _, c := range counters {
		y.key = binary.LittleEndian.AppendUint32(y.key, uint32(c))
	}
	n, ok := y.numbers[string(y.key)]
	if !ok {
		if len(y.lists) == maxTallies {
			return 0, false
		}
		if y.numbers == nil {
			y.numbers = map[string]int{}
		}
		n = len(y.lists)
		y.numbers[string(y.key)] = n
		y.lists = append(y.lists, slices.Clone(counters))
		y.again = append(y.again, 0)
	}
	return n, true
}

// Repeat counts once more the list with a number.
func (y *Tallies) Repeat(n int) { y.again[n]++ }

// AddTo adds the repeated counts to the counters. y may be nil.
func (y *Tallies) AddTo(counts []uint64) {
	if y == nil {
		return
	}
	for i, n := range y.again {
		if n == 0 {
			continue
		}
		y.again[i] = 0
		for _, c := range y.lists[i] {
			counts[c] += n
		}
	}
}

func add(sum, counts []uint64) {
	for i, n := range counts {
		sum[i] += n
	}
}
