package monitor

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// Config says what to monitor.
type Config struct {
	Predicate *predicate.Predicate
	Modality  detect.Modality
	// Hosts are the processes. If it is empty, they are those that the predicate names; a predicate
	// with quantifiers over all hosts needs the list.
	Hosts []string
	// Init holds the values of variables in the initial local states.
	Init map[string]map[string]computation.Value
	// MaxStates bounds the local states and the branches of the search that are
	// kept; 0 is no bound.
	MaxStates int
	// MaxBytes bounds the memory of everything that is kept, approximately; 0 is no bound.
	MaxBytes int64
	// Follow, if not nil, makes what the events are given to, instead of a predicate. Hosts must
	// then be all hosts.
	Follow func(cfg Config) (Follower, error)
	// About says, for the journal, what the follower compares the events with.
	About string
}

// Follower takes the events of all hosts, those of a host in their order.
type Follower interface {
	// Take takes an event, and Advance follows what was taken.
	Take(host int, clock computation.Cut, vars map[string]computation.Value, text string)
	Advance()
	// Refused reports whether no continuation of the events can be right, and Stuck whether the
	// answer stays unknown because of a limit.
	Refused() bool
	Stuck() bool
	// Size returns how much is kept, and about how many bytes it takes.
	Size() (kept int, bytes int64)
	// End says that no more events come, and returns whether they are known to be right.
	End() (bool, error)
	Save() ([]byte, error)
	Restore(text []byte) error
}

// ErrNeedHosts is returned by New when the predicate speaks about all hosts, or there is a
// follower, and they were not given.
var ErrNeedHosts = errors.New("all hosts must be known in advance: name them with -hosts or in " +
	`a first line {"hosts": [...]}`)

// ErrFull is returned when Config.MaxStates or Config.MaxBytes is reached. Everything accepted
// until then is kept: a monitor with a higher bound can continue from its journal.
var ErrFull = errors.New("the limit of what the monitor may keep in memory is reached")

// Bounds of what a host may make the monitor keep.
const (
	maxEarly = 10_000  // events that arrived before their predecessors
	maxSums  = 1 << 22 // events of all hosts that a repeated one is compared with, at least
	maxText  = 256     // bytes of the text of a local state
)

// Monitor detects a predicate while events arrive. It is not safe for
// concurrent use.
type Monitor struct {
	cfg    Config
	node   *predicate.Node
	hosts  []*host
	index  map[string]int
	values *computation.Values
	parts  []engine
	follow Follower // instead of a predicate
	// detected is set when the answer is known: Poss or Def holds.
	detected *Detection
	kept     int // local states and branches
	peak     int
	trimAt   int // the number of local states at which to look for unneeded ones
	events   int64
	full     bool

	rows       int   // of all hosts
	pruneAt    int   // the number of rows at which to look for unneeded ones
	textBytes  int64 // of the kept local states' texts
	earlyBytes int64
	valueBytes int64 // of m.values
}

// Detection is the announcement that the predicate holds.
type Detection struct {
	Modality string `json:"modality"`
	// Cut is, for Poss, the witness: the number of events of each host.
	Cut map[string]int32 `json:"cut,omitempty"`
	// Where holds, for Poss, the variables of the predicate in the witness, as far
	// as their values are still known: the last changes that changed no part of the
	// predicate are not kept.
	Where map[string]map[string]computation.Value `json:"where,omitempty"`
	// Texts holds, for Poss, the last event of each host that changed one.
	Texts map[string]string `json:"events,omitempty"`
	// Events is how many events had arrived.
	Events int64 `json:"after_events"`
}

// engine looks for one conjunction.
type engine interface {
	// advance continues after events of host i have arrived, -1 for all hosts; it reports a
	// detection. It may stop early when there are too many branches.
	advance(m *Monitor, i int) (*Detection, bool)
	// needed returns the first position of host i that is still needed.
	needed(i int) int32
	conjunction() *predicate.Conjunction
	// size is the number of branches that are kept.
	size() int
	// end decides when no more events come: whether Poss or Def holds.
	end(m *Monitor) (bool, error)
	// truth returns which clauses have a true literal of host i's own.
	truth(m *Monitor, i int, tuple int32) []bool
	// forget follows a renumbering of the tuples.
	forget()
	// save returns what restore needs, for encoding/json.
	save() any
	restore(data []byte) error
}

// host is a process: its local states from some position on, of those only the
// ones in which a variable of the predicate changes.
type host struct {
	name    string
	vars    []string // of the predicate, sorted
	arrived int32
	last    computation.Cut // clock of the last event
	rows    []row           // ascending by at, the first one perhaps 0
	sums    []uint64        // of the content of the last events that have arrived
	cur     []computation.ValueID
	states  []state // ascending by at; the first one may begin before what is needed
	early   map[int32]*event
	tuples  [][]computation.ValueID
	tupleID map[string]int32 // by their values
	// instead of tupleID for one variable: the tuple plus 1, by value
	ofValue []int32
	seen    [][]predicate.Sighting // by variable: a value of each type that it had
	// the variables, as indices in vars, that stand in joint literals
	joint   []int
	class   []int32          // by tuple, -1 if it is not known yet
	classID map[string]int32 // by truth of the literals and values of the joint variables
}

// state is a local state that the monitor keeps.
type state struct {
	at    int32 // the number of events before it
	clock computation.Cut
	tuple int32
	text  string
	// later is set when variables changed after at, in ways that change no literal
	// and no variable of a joint one: the events that did so are not kept.
	later bool
}

// New returns a monitor. The error is ErrNeedHosts, or an *predicate.Error; that
// the predicate does not fit the initial values is one, too.
func New(cfg Config) (*Monitor, error) {
	if cfg.Follow != nil {
		return newFollowing(cfg)
	}
	if len(cfg.Hosts) == 0 {
		if cfg.Predicate.UsesAllHosts() {
			return nil, ErrNeedHosts
		}
		cfg.Hosts = cfg.Predicate.Hosts()
	}
	node, err := cfg.Predicate.Expand(predicate.Names{Hosts: cfg.Hosts})
	if err != nil {
		return nil, err
	}
	m, err := withHosts(cfg)
	if err != nil {
		return nil, err
	}
	m.node = node
	var collect func(n *predicate.Node)
	collect = func(n *predicate.Node) {
		if n.Op == predicate.Var {
			h := m.hosts[n.Process]
			if !slices.Contains(h.vars, n.Name) {
				h.vars = append(h.vars, n.Name)
			}
		}
		for _, k := range n.Kids {
			collect(k)
		}
	}
	collect(node)
	for _, h := range m.hosts {
		sort.Strings(h.vars)
		h.cur = make([]computation.ValueID, len(h.vars))
		h.seen = make([][]predicate.Sighting, len(h.vars))
		for x, name := range h.vars {
			v := cfg.Init[h.name][name]
			h.cur[x] = m.valueID(v)
			h.sight(x, v, "in the initial state")
		}
		h.rows = []row{{0, h.last.Clone()}}
		h.states = []state{{clock: h.last.Clone(), tuple: h.tuple()}}
	}
	if err := m.typed(nil); err != nil {
		return nil, err
	}
	if cfg.Modality == detect.Def {
		conj := predicate.Normalise(node)
		if conj.IsLocal() {
			m.parts = []engine{newStrong(m, conj)}
		} else {
			m.parts = []engine{newAvoider(m, conj)}
		}
	} else {
		for _, conj := range predicate.Disjuncts(node) {
			m.parts = append(m.parts, newSeeker(m, conj))
		}
	}
	for _, p := range m.parts {
		for _, cl := range p.conjunction().Clauses {
			for _, l := range cl.Joint {
				m.markJoint(l)
			}
		}
	}
	m.rows, m.pruneAt = len(m.hosts), len(m.hosts)+minPrune
	m.advance(-1)
	return m, nil
}

// withHosts returns a monitor that knows its hosts.
func withHosts(cfg Config) (*Monitor, error) {
	m := &Monitor{cfg: cfg, index: map[string]int{}, values: computation.NewValues()}
	for i, name := range cfg.Hosts {
		if _, twice := m.index[name]; twice {
			return nil, fmt.Errorf("host %s is listed twice", name)
		}
		m.index[name] = i
		m.hosts = append(m.hosts, &host{name: name, last: make(computation.Cut, len(cfg.Hosts)),
			early: map[int32]*event{}, tupleID: map[string]int32{}, classID: map[string]int32{}})
	}
	return m, nil
}

// newFollowing returns a monitor that gives the events to a follower.
func newFollowing(cfg Config) (*Monitor, error) {
	if len(cfg.Hosts) == 0 {
		return nil, ErrNeedHosts
	}
	m, err := withHosts(cfg)
	if err != nil {
		return nil, err
	}
	for _, h := range m.hosts {
		h.rows = []row{{0, h.last.Clone()}}
		h.states = []state{{clock: h.last.Clone(), tuple: h.tuple()}}
	}
	m.rows, m.pruneAt = len(m.hosts), len(m.hosts)+minPrune
	if m.follow, err = cfg.Follow(cfg); err != nil {
		return nil, err
	}
	m.advance(-1)
	return m, nil
}

// valueID numbers the value.
func (m *Monitor) valueID(v computation.Value) computation.ValueID {
	n := m.values.Len()
	id := m.values.ID(v)
	if m.values.Len() > n {
		m.valueBytes += int64(160 + v.Bytes())
	}
	return id
}

// markJoint notes the variables of a joint literal.
func (m *Monitor) markJoint(n *predicate.Node) {
	if n.Op == predicate.Var {
		h := m.hosts[n.Process]
		if x, _ := slices.BinarySearch(h.vars, n.Name); !slices.Contains(h.joint, x) {
			h.joint = append(h.joint, x)
		}
	}
	for _, k := range n.Kids {
		m.markJoint(k)
	}
}

// classOf numbers what the searches can see of a tuple of host i's values.
func (m *Monitor) classOf(i int, tuple int32) int32 {
	h := m.hosts[i]
	for int(tuple) >= len(h.class) {
		h.class = append(h.class, -1)
	}
	if h.class[tuple] < 0 {
		var key []byte
		for _, p := range m.parts {
			for _, b := range p.truth(m, i, tuple) {
				if b {
					key = append(key, 1)
				} else {
					key = append(key, 0)
				}
			}
		}
		ids := make([]computation.ValueID, len(h.joint))
		for k, x := range h.joint {
			ids[k] = h.tuples[tuple][x]
		}
		text := string(key) + tupleKey(ids)
		id, ok := h.classID[text]
		if !ok {
			id = int32(len(h.classID))
			h.classID[text] = id
		}
		h.class[tuple] = id
	}
	return h.class[tuple]
}

// Hosts returns the processes that the monitor knows.
func (m *Monitor) Hosts() []string { return m.cfg.Hosts }

// Detected returns the announcement, or nil.
func (m *Monitor) Detected() *Detection { return m.detected }

// Status tells how a monitor is doing.
type Status struct {
	Events   int64            `json:"events"`    // accepted
	Arrived  map[string]int32 `json:"arrived"`   // by host
	Early    int              `json:"early"`     // waiting for a predecessor
	Kept     int              `json:"kept"`      // local states and branches in memory
	Bytes    int64            `json:"bytes"`     // of memory that is taken, about
	Full     bool             `json:"full"`      // a bound is reached: no more events are taken
	PeakKept int              `json:"peak_kept"` // the most there ever were
	Detected *Detection       `json:"detected"`
}

// Status returns how the monitor is doing.
func (m *Monitor) Status() Status {
	s := Status{Events: m.events, Arrived: map[string]int32{}, Kept: m.kept, Bytes: m.bytes(),
		Full: m.full, PeakKept: m.peak, Detected: m.detected}
	for _, h := range m.hosts {
		s.Arrived[h.name] = h.arrived
		s.Early += len(h.early)
	}
	return s
}

// check reports whether an event contradicts what has arrived, without changing
// anything; fresh is unset if the event was there already. The error is ErrFull
// if no more are taken.
func (m *Monitor) check(e *event) (fresh bool, err error) {
	h := m.hosts[e.host]
	if m.follow != nil && len(e.others) > 0 {
		return false, m.unknown(e.others[0].Host)
	}
	if e.own <= h.arrived || h.early[e.own] != nil {
		return false, h.repeated(e)
	}
	if m.full {
		return false, ErrFull
	}
	if e.own > h.arrived+1 && len(h.early) >= maxEarly {
		return false, fmt.Errorf("event %d of host %s arrived, but event %d is missing", e.own,
			h.name, h.arrived+1)
	}
	if err := m.fits(e); err != nil {
		return false, err
	}
	if err := m.typed(e); err != nil {
		return false, err
	}
	return true, nil
}

// unknown says that a host is none of those that a follower knows.
func (m *Monitor) unknown(host string) error {
	return fmt.Errorf("host %s is unknown: the hosts are %s; name all hosts in advance", host,
		strings.Join(m.cfg.Hosts, ", "))
}

// repeated compares an event with the one of the same number that came before.
func (h *host) repeated(e *event) error {
	var sum uint64
	if old := h.early[e.own]; old != nil {
		sum = old.sum
	} else if at := int(e.own) - 1 - (int(h.arrived) - len(h.sums)); at < 0 {
		return fmt.Errorf("event %d of host %s came long ago, and its content is no longer "+
			"known: send only events from %d on", e.own, h.name, int(h.arrived)-len(h.sums)+1)
	} else {
		sum = h.sums[at]
	}
	if sum != e.sum {
		return fmt.Errorf("event %d of host %s came before with another content", e.own, h.name)
	}
	return nil
}

// Full reports whether a bound was reached.
func (m *Monitor) Full() bool { return m.full }

// add takes an event that check found fresh; one that arrives before its
// predecessor of the same host waits for it. The error is ErrFull when this event
// was taken, and no more will be.
func (m *Monitor) add(e *event) error {
	h := m.hosts[e.host]
	m.events++
	m.sights(e)
	if e.own > h.arrived+1 {
		e = e.clone()
		m.learn(e, true)
		h.early[e.own] = e
		m.earlyBytes += int64(e.size)
		return m.bounded()
	}
	m.take(e)
	for len(h.early) > 0 {
		next := h.early[h.arrived+1]
		if next == nil {
			break
		}
		delete(h.early, h.arrived+1)
		m.earlyBytes -= int64(next.size)
		m.take(next)
	}
	return m.advance(int(e.host))
}

// take appends an event to its host's local states if it changes a variable of
// the predicate.
func (m *Monitor) take(e *event) {
	i := int(e.host)
	h := m.hosts[i]
	m.learn(e, false)
	h.arrived++
	copy(h.last, e.clock)
	if n := max(1024, maxSums/len(m.hosts)); len(h.sums) >= 2*n {
		h.sums = append(h.sums[:0], h.sums[n:]...)
	}
	h.sums = append(h.sums, e.sum)
	if m.detected != nil {
		return
	}
	if m.follow != nil {
		vars := make(map[string]computation.Value, len(e.vars))
		for _, v := range e.vars {
			vars[v.Name] = v.Value
		}
		m.follow.Take(i, e.clock.Clone(), vars, strings.Clone(e.text))
		return
	}
	changed := false
	for k := range e.vars {
		if x, ok := slices.BinarySearch(h.vars, e.vars[k].Name); ok {
			if id := m.valueID(e.vars[k].Value); id != h.cur[x] {
				h.cur[x] = id
				changed = true
			}
		}
	}
	if !changed {
		return
	}
	tuple := h.tuple()
	if last := &h.states[len(h.states)-1]; m.classOf(i, tuple) == m.classOf(i, last.tuple) {
		last.later = true
		return
	}
	text := e.text
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	text = strings.Clone(text)
	m.textBytes += int64(len(text))
	h.states = append(h.states, state{at: h.arrived, clock: e.kept(), tuple: tuple, text: text})
}

// tuple numbers the current values of the host's variables.
func (h *host) tuple() int32 {
	if len(h.cur) == 1 { // the usual case, without making a key
		v := int(h.cur[0])
		if v < len(h.ofValue) && h.ofValue[v] > 0 {
			return h.ofValue[v] - 1
		}
		for v >= len(h.ofValue) {
			h.ofValue = append(h.ofValue, 0)
		}
		id := int32(len(h.tuples))
		h.ofValue[v] = id + 1
		h.tuples = append(h.tuples, slices.Clone(h.cur))
		return id
	}
	key := tupleKey(h.cur)
	id, ok := h.tupleID[key]
	if !ok {
		id = int32(len(h.tuples))
		h.tupleID[key] = id
		h.tuples = append(h.tuples, slices.Clone(h.cur))
	}
	return id
}

// number rebuilds the index of the tuples.
func (h *host) number() {
	h.tupleID, h.ofValue = map[string]int32{}, nil
	for x, t := range h.tuples {
		if len(t) != 1 {
			h.tupleID[tupleKey(t)] = int32(x)
			continue
		}
		for int(t[0]) >= len(h.ofValue) {
			h.ofValue = append(h.ofValue, 0)
		}
		h.ofValue[t[0]] = int32(x) + 1
	}
}

func tupleKey(tuple []computation.ValueID) string {
	key := make([]byte, 0, 32)
	for _, v := range tuple {
		key = append(key, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return string(key)
}

// find returns the index in states of the local state that position k is in.
func (h *host) find(k int32) int {
	return sort.Search(len(h.states), func(x int) bool { return h.states[x].at > k }) - 1
}

// advance lets the engines go on after events of host i have arrived, -1 for
// all, and drops what nobody needs any more.
func (m *Monitor) advance(i int) error {
	if m.detected != nil {
		return m.bounded()
	}
	if m.follow != nil {
		return m.advanceFollower()
	}
	for _, p := range m.parts {
		if d, ok := p.advance(m, i); ok {
			d.Events = m.events
			d.Modality = m.cfg.Modality.String()
			m.detected = d
			m.release()
			return nil
		}
	}
	states := 0
	for _, h := range m.hosts {
		states += len(h.states)
	}
	if i >= 0 {
		m.forget(m.hosts[i], false)
	}
	if states >= m.trimAt {
		states = m.trim()
		m.trimAt = max(minTrim, 2*states)
	}
	m.kept = states
	for _, p := range m.parts {
		m.kept += p.size()
	}
	m.peak = max(m.peak, m.kept)
	return m.bounded()
}

// advanceFollower lets the follower follow what has arrived.
func (m *Monitor) advanceFollower() error {
	m.follow.Advance()
	if m.follow.Refused() {
		m.detected = &Detection{Modality: "refused", Events: m.events}
		m.kept = 0
		return nil
	}
	m.kept, _ = m.follow.Size()
	m.peak = max(m.peak, m.kept)
	if m.follow.Stuck() {
		m.full = true
		return ErrFull
	}
	return m.bounded()
}

// over reports whether the number of branches alone is beyond a bound: an engine
// stops then, in a state in which it can go on.
func (m *Monitor) over(branches int) bool {
	return m.cfg.MaxStates > 0 && branches > m.cfg.MaxStates ||
		m.cfg.MaxBytes > 0 && int64(branches)*m.branchBytes() > m.cfg.MaxBytes
}

func (m *Monitor) branchBytes() int64 { return int64(160 + 16*len(m.hosts)) }

// bytes returns about how much memory is taken.
func (m *Monitor) bytes() int64 {
	n := int64(len(m.hosts))
	b := int64(
		m.rows,
	)*(32+4*n) + int64(
		m.kept,
	)*m.branchBytes() + m.textBytes + m.earlyBytes + m.valueBytes
	if m.follow != nil && m.detected == nil {
		_, more := m.follow.Size()
		b += more - int64(m.kept)*m.branchBytes()
	}
	for _, h := range m.hosts {
		b += int64(cap(h.sums))*8 + int64(len(h.tuples))*int64(96+12*len(h.vars))
	}
	return b
}

// bounded reports ErrFull when a bound is reached, after it has tried to make
// room.
func (m *Monitor) bounded() error {
	if !m.beyond() {
		return nil
	}
	m.prune()
	if m.detected == nil && m.follow == nil {
		before := m.kept
		m.kept = m.trim()
		for _, p := range m.parts {
			m.kept += p.size()
		}
		m.kept = min(m.kept, before)
		for _, h := range m.hosts {
			m.forget(h, true)
		}
	}
	if m.beyond() {
		m.full = true
		return ErrFull
	}
	return nil
}

func (m *Monitor) beyond() bool {
	states := m.follow == nil && m.cfg.MaxStates > 0 && m.kept > m.cfg.MaxStates
	return states || m.cfg.MaxBytes > 0 && m.bytes() > m.cfg.MaxBytes
}

// release drops what only the search needed; events are still checked and
// counted.
func (m *Monitor) release() {
	m.parts = nil
	m.kept = 0
	m.textBytes, m.valueBytes = 0, 0
	for _, h := range m.hosts {
		h.states = append([]state(nil), h.states[len(h.states)-1])
		h.states[0].tuple = 0
		h.states[0].text = ""
		h.tuples, h.tupleID, h.class, h.classID = [][]computation.ValueID{
			make([]computation.ValueID, len(h.vars))}, nil, nil, nil
		h.ofValue = nil
	}
	m.values = computation.NewValues()
}

// minTrim is the least number of local states at which trim looks at all
// branches; below, the look would cost more than the memory is worth.
var minTrim = 64 // less in tests

// trim drops the local states that no branch needs any more and returns how
// many are left.
func (m *Monitor) trim() int {
	left := 0
	for i, h := range m.hosts {
		least := h.arrived
		for _, p := range m.parts {
			least = min(least, p.needed(i))
		}
		if x := h.find(least); x > 0 {
			for _, s := range h.states[:x] {
				m.textBytes -= int64(len(s.text))
			}
			kept := copy(h.states, h.states[x:])
			clear(h.states[kept:])
			h.states = h.states[:kept]
		}
		left += len(h.states)
	}
	return left
}

// forget drops the numbers of tuples that no kept state has, when there are
// many or anyway: a variable that counts takes a new value with every event.
func (m *Monitor) forget(h *host, anyway bool) {
	if !anyway && (len(h.tuples) < 1024 || len(h.tuples) < 4*len(h.states)) {
		return
	}
	renumbered := make(map[int32]int32, len(h.states))
	var tuples [][]computation.ValueID
	for x := range h.states {
		old := h.states[x].tuple
		id, ok := renumbered[old]
		if !ok {
			id = int32(len(tuples))
			renumbered[old] = id
			tuples = append(tuples, h.tuples[old])
		}
		h.states[x].tuple = id
	}
	h.tuples = tuples
	h.class, h.classID = nil, map[string]int32{}
	h.number()
	m.shrinkValues(anyway)
	for _, p := range m.parts {
		p.forget()
	}
}

// shrinkValues makes a new table of the values that are still in use, when most
// are not, or anyway.
func (m *Monitor) shrinkValues(anyway bool) {
	used := 0
	for _, h := range m.hosts {
		used += len(h.tuples) * len(h.vars)
	}
	if !anyway && (m.values.Len() < 1024 || m.values.Len() < 4*used) {
		return
	}
	old := m.values
	m.values, m.valueBytes = computation.NewValues(), 0
	move := func(ids []computation.ValueID) []computation.ValueID {
		out := make([]computation.ValueID, len(ids))
		for x, id := range ids {
			out[x] = m.valueID(old.Value(id))
		}
		return out
	}
	for _, h := range m.hosts {
		h.class, h.classID = nil, map[string]int32{}
		h.cur = move(h.cur)
		for t := range h.tuples {
			h.tuples[t] = move(h.tuples[t])
		}
		h.number()
	}
}

// End tells that no more events come, and returns whether the predicate holds
// (Poss or Def) for the events that have arrived. Events that still wait for a
// predecessor are an error; so is a limit that is reached while the answer is computed.
func (m *Monitor) End() (bool, error) {
	if m.detected != nil {
		return true, nil
	}
	for _, h := range m.hosts {
		if len(h.early) > 0 {
			return false, fmt.Errorf("%d events of host %s arrived, but event %d never did",
				len(h.early), h.name, h.arrived+1)
		}
		for j, x := range h.last {
			if x > m.hosts[j].arrived {
				return false, fmt.Errorf(
					"host %s knows of event %d of host %s, which never arrived", h.name, x,
					m.hosts[j].name)
			}
		}
	}
	if m.follow != nil {
		return m.follow.End()
	}
	for _, p := range m.parts {
		if holds, err := p.end(m); holds || err != nil {
			return holds, err
		}
	}
	return false, nil
}

// value returns the value of a variable of the predicate in a local state.
func (m *Monitor) value(n *predicate.Node, tuple int32) computation.Value {
	h := m.hosts[n.Process]
	x, _ := slices.BinarySearch(h.vars, n.Name)
	return m.values.Value(h.tuples[tuple][x])
}

// detection describes a witness.
func (m *Monitor) detection(cut computation.Cut) *Detection {
	d := &Detection{Cut: map[string]int32{}, Where: map[string]map[string]computation.Value{},
		Texts: map[string]string{}}
	for i, h := range m.hosts {
		d.Cut[h.name] = cut[i]
		s := h.states[h.find(cut[i])]
		where := map[string]computation.Value{}
		for x, name := range h.vars {
			if s.later && cut[i] > s.at && !slices.Contains(h.joint, x) {
				continue // it may have changed since
			}
			where[name] = m.values.Value(h.tuples[s.tuple][x])
		}
		if len(where) > 0 {
			d.Where[h.name] = where
		}
		if s.text != "" {
			d.Texts[h.name] = s.text
		}
	}
	return d
}
