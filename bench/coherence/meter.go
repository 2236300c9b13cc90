package coherence

import (
	"math"
	"runtime"
	"time"
	"unsafe"

	"cpor/internal/probe"
)

// Meter times the local work of a search with one worker. It is a [probe.Observer] that keeps
// nobody waiting.
type Meter struct {
	start  time.Time
	clock  func() time.Duration // since start
	last   probe.Site
	timing bool
	from   time.Duration
	// When the thread's own time was last asked for, and what it was. Asking slows down what comes
	// after it, so it is not done before a segment that is timed.
	asked, used time.Duration
	random      uint64
	seen        [probe.Sites]int
	segments    uint64
	live        bool          // the worker has begun, and has not ended
	overhead    time.Duration // of taking the time
	raw         time.Duration // of the last segment, with the overhead
	locks       int           // held
	sums        table[sample]
	pauses      time.Duration // in which something else ran
}

var _ probe.Observer = (*Meter)(nil)

const (
	// One segment in timeEvery is timed, at random, so that the others run almost undisturbed, and
	// of those that begin at a site, all of the first ones.
	timeEvery = 8
	rare      = 2000
	// During a segment that takes this long, something else may have run on the processor, so only
	// the thread's own time counts.
	long = 20 * time.Microsecond
	// askEvery is after how many segments the thread's time is asked for.
	askEvery = 256
)

// NewMeter returns a meter.
func NewMeter() *Meter {
	start := time.Now()
	return newMeter(func() time.Duration { return time.Since(start) })
}

func newMeter(clock func() time.Duration) *Meter {
	m := &Meter{start: time.Now(), clock: clock, random: 1}
	// What taking the time takes in itself counts as local work otherwise: the mean of segments
	// without work, in the best of some tries.
	var o probe.Observer = m
	m.overhead = time.Hour
	for range 100 {
		const segments = 100
		sum := time.Duration(0)
		m.live, m.sums = true, table[sample]{}
		for range segments {
			m.timing, m.from = true, clock()
			o.Access(probe.Start, nil, false)
			sum += m.raw
		}
		m.overhead = min(m.overhead, sum/segments)
	}
	*m = Meter{start: m.start, clock: clock, random: 1, overhead: m.overhead}
	return m
}

// sample sums up the timed segments of a kind.
type sample struct {
	time time.Duration
	n    int64
}

// Watch observes a search with one worker. It can be called several times.
func (m *Meter) Watch(search func()) {
	defer probe.Install(m)()
	search()
}

// Segments returns the mean times, and the share of the measured time in which something else ran
// on the processor, which does not count.
func (m *Meter) Segments() (all Segments, lost float64) {
	all = Segments{}
	var sum time.Duration
	for locks := range m.sums {
		for from := range probe.Sites {
			for to := range probe.Sites {
				if s := m.sums.at(from, to, locks); s.n > 0 {
					mean := max(0, math.Round(float64(s.time)/float64(s.n)))
					all[Segment{from, to, locks > 0}] = time.Duration(mean)
					sum += s.time
				}
			}
		}
	}
	if sum+m.pauses > 0 {
		lost = float64(m.pauses) / float64(sum+m.pauses)
	}
	return all, lost
}

func (m *Meter) next(site probe.Site) {
	if !m.live {
		return
	}
	if m.timing {
		m.raw = m.clock() - m.from
		if d := m.raw - m.overhead; d < long || m.own(&d) {
			s := m.sums.at(m.last, site, m.locks)
			s.time += d
			s.n++
		}
	}
	m.last = site
	if m.segments++; m.segments%askEvery == 0 {
		m.ask()
	}
	m.random ^= m.random << 13
	m.random ^= m.random >> 7
	m.random ^= m.random << 17
	m.seen[site]++
	if m.timing = m.random%timeEvery == 0 || m.seen[site] < rare; m.timing {
		m.from = m.clock()
	}
}

// ask asks for the thread's own time.
func (m *Meter) ask() (ok bool) {
	m.asked = time.Since(m.start)
	m.used, ok = threadTime()
	return ok
}

// own subtracts from a long segment the time in which something else ran. It returns false if
// nothing is left.
func (m *Meter) own(d *time.Duration) bool {
	asked, used := m.asked, m.used
	if !m.ask() {
		return true
	}
	other := max(0, (m.asked-asked)-(m.used-used))
	m.pauses += min(other, *d)
	*d -= other
	return *d > 0
}

// restart forgets where the worker was.
func (m *Meter) restart() { m.last, m.timing = probe.Start, false }

// Access implements [probe.Observer].
func (m *Meter) Access(site probe.Site, _ unsafe.Pointer, _ bool) { m.next(site) }

// Touch implements [probe.Observer].
func (m *Meter) Touch(site probe.Site, _ unsafe.Pointer) { m.next(site) }

// Mark implements [probe.Observer].
func (m *Meter) Mark(site probe.Site) { m.next(site) }

// Lock implements [probe.Observer].
func (m *Meter) Lock(site probe.Site, _ unsafe.Pointer) {
	m.next(site)
	m.locks++
}

// Unlock implements [probe.Observer].
func (m *Meter) Unlock(site probe.Site, _ unsafe.Pointer) {
	m.next(site)
	m.last = probe.Unlocked
	m.locks--
}

// Begin implements [probe.Observer].
func (m *Meter) Begin(int) {
	runtime.LockOSThread() // whose time is asked for
	m.restart()
	m.ask()
	m.live = true
}

// End implements [probe.Observer].
func (m *Meter) End(int) {
	m.live = false
	runtime.UnlockOSThread()
}

// Pause implements [probe.Observer].
func (m *Meter) Pause() { m.restart() }

// Park implements [probe.Observer].
func (m *Meter) Park(int) { m.restart() }

// Unpark implements [probe.Observer].
func (m *Meter) Unpark(int) {}

// UnparkAll implements [probe.Observer].
func (m *Meter) UnparkAll() {}

// Now implements [probe.Observer].
func (m *Meter) Now() time.Duration { return time.Since(m.start) }
