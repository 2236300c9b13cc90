package monitor

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// Event is an event of a process as it arrives.
type Event struct {
	Host  string
	Clock map[string]int32 // its own entry is the event's number; missing entries are 0
	Vars  map[string]computation.Value
	Text  string
}

// Config says what to monitor.
type Config struct {
	Predicate *predicate.Predicate
	Modality  detect.Modality
	// Hosts are the processes. If it is empty, they are those that the predicate
	// names; a predicate with quantifiers over all hosts needs the list.
	Hosts []string
	// Init holds the values of variables in the initial local states.
	Init map[string]map[string]computation.Value
	// MaxStates bounds the local states and the branches of the search that are
	// kept; 0 is no bound.
	MaxStates int
}

// ErrNeedHosts is returned by New when the predicate speaks about all hosts and
// they were not given.
var ErrNeedHosts = errors.New("the predicate speaks about all hosts: they have to be known in advance")

// ErrFull is returned by Add when more than Config.MaxStates local states would
// have to be kept.
var ErrFull = errors.New("too many local states and branches have to be kept")

// maxEarly bounds the events of a host that arrived before their predecessors.
const maxEarly = 10_000

// Monitor detects a predicate while events arrive. It is not safe for
// concurrent use.
type Monitor struct {
	cfg    Config
	node   *predicate.Node
	hosts  []*host
	index  map[string]int
	values *computation.Values
	parts  []engine
	// detected is set when the answer is known: Poss or Def holds.
	detected *Detection
	kept     int // local states and branches
	peak     int
	trimAt   int // the number of local states at which to look for unneeded ones
	events   int64
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
	// advance goes on after events have arrived; it reports a detection.
	advance(m *Monitor) (*Detection, bool)
	// needed returns the first position of host i that is still needed.
	needed(i int) int32
	conjunction() *predicate.Conjunction
	// size is the number of branches that are kept.
	size() int
	// end decides when no more events come: whether Poss or Def holds.
	end(m *Monitor) bool
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
	cur     []computation.ValueID
	states  []state // ascending by at; the first one may begin before what is needed
	early   map[int32]*Event
	tuples  [][]computation.ValueID
	tupleID map[string]int32
	joint   []int            // the variables, as indices in vars, that stand in joint literals
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

// New returns a monitor. The error is ErrNeedHosts, or an *predicate.Error.
func New(cfg Config) (*Monitor, error) {
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
	m := &Monitor{cfg: cfg, node: node, index: map[string]int{}, values: computation.NewValues()}
	for i, name := range cfg.Hosts {
		if _, twice := m.index[name]; twice {
			return nil, fmt.Errorf("host %s is listed twice", name)
		}
		m.index[name] = i
		m.hosts = append(m.hosts, &host{name: name, last: make(computation.Cut, len(cfg.Hosts)), early: map[int32]*Event{}, tupleID: map[string]int32{}, classID: map[string]int32{}})
	}
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
		for x, name := range h.vars {
			h.cur[x] = m.values.ID(cfg.Init[h.name][name])
		}
		h.states = []state{{clock: h.last.Clone(), tuple: h.tuple()}}
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
	m.advance()
	return m, nil
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

// Detected returns the announcement, nil if there is none yet.
func (m *Monitor) Detected() *Detection { return m.detected }

// Status tells how a monitor is doing.
type Status struct {
	Events   int64            `json:"events"`    // accepted
	Arrived  map[string]int32 `json:"arrived"`   // by host
	Early    int              `json:"early"`     // waiting for a predecessor
	Kept     int              `json:"kept"`      // local states and branches in memory
	PeakKept int              `json:"peak_kept"` // the most there ever were
	Detected *Detection       `json:"detected"`
}

// Status returns how the monitor is doing.
func (m *Monitor) Status() Status {
	s := Status{Events: m.events, Arrived: map[string]int32{}, Kept: m.kept, PeakKept: m.peak, Detected: m.detected}
	for _, h := range m.hosts {
		s.Arrived[h.name] = h.arrived
		s.Early += len(h.early)
	}
	return s
}

// Relevant reports whether the host is one whose events matter.
func (m *Monitor) Relevant(hostName string) bool {
	_, ok := m.index[hostName]
	return ok
}

// Check reports whether Add would refuse the event, without changing anything;
// fresh is unset if the event was there already.
func (m *Monitor) Check(e *Event) (fresh bool, err error) {
	i, ok := m.index[e.Host]
	if !ok {
		return false, nil
	}
	h := m.hosts[i]
	own := e.Clock[e.Host]
	switch {
	case own <= 0:
		return false, fmt.Errorf("the clock has no entry for its own host %s", e.Host)
	case own <= h.arrived:
		return false, nil
	case h.early[own] != nil:
		return false, nil
	case own > h.arrived+1 && len(h.early) >= maxEarly:
		return false, fmt.Errorf("event %d of host %s arrived, but event %d is missing", own, e.Host, h.arrived+1)
	}
	for name, x := range e.Clock {
		if x < 0 {
			return false, fmt.Errorf("the clock's entry for host %s is negative: %d", name, x)
		}
		if j, ok := m.index[name]; ok && own == h.arrived+1 && x < h.last[j] {
			return false, fmt.Errorf("the clock's entry for host %s falls from %d to %d", name, h.last[j], x)
		}
	}
	if own == h.arrived+1 {
		for j, x := range h.last {
			if x > e.Clock[m.hosts[j].name] && j != i {
				return false, fmt.Errorf("the clock's entry for host %s falls from %d to %d", m.hosts[j].name, x, e.Clock[m.hosts[j].name])
			}
		}
	}
	return true, nil
}

// Add takes an event. An event that was there already is ignored, so that a
// sender may repeat what was not acknowledged; one that arrives before its
// predecessor of the same host waits for it. The error says what is wrong with
// the event, or is ErrFull; a rejected event changes nothing but, with ErrFull,
// the event is taken and the monitor must not be used any more.
func (m *Monitor) Add(e *Event) error {
	if fresh, err := m.Check(e); err != nil || !fresh {
		return err
	}
	i := m.index[e.Host]
	h := m.hosts[i]
	m.events++
	if e.Clock[e.Host] > h.arrived+1 {
		h.early[e.Clock[e.Host]] = e
		return nil
	}
	m.take(i, e)
	for {
		next := h.early[h.arrived+1]
		if next == nil {
			break
		}
		delete(h.early, h.arrived+1)
		if _, err := m.Check(next); err != nil {
			m.events--
			return fmt.Errorf("event %d of host %s, which had arrived early: %w", h.arrived+1, h.name, err)
		}
		m.take(i, next)
	}
	return m.advance()
}

// take appends an event to its host's local states if it changes a variable of
// the predicate.
func (m *Monitor) take(i int, e *Event) {
	h := m.hosts[i]
	h.arrived++
	clock := make(computation.Cut, len(m.hosts))
	for j, g := range m.hosts {
		clock[j] = e.Clock[g.name]
	}
	h.last = clock
	if m.detected != nil {
		return
	}
	changed := false
	for x, name := range h.vars {
		if v, ok := e.Vars[name]; ok {
			if id := m.values.ID(v); id != h.cur[x] {
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
	h.states = append(h.states, state{at: h.arrived, clock: clock, tuple: tuple, text: e.Text})
}

// tuple numbers the current values of the host's variables.
func (h *host) tuple() int32 {
	key := tupleKey(h.cur)
	id, ok := h.tupleID[key]
	if !ok {
		id = int32(len(h.tuples))
		h.tupleID[key] = id
		h.tuples = append(h.tuples, slices.Clone(h.cur))
	}
	return id
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

// advance lets the engines go on and drops what nobody needs any more.
func (m *Monitor) advance() error {
	if m.detected != nil {
		return nil
	}
	for _, p := range m.parts {
		if d, ok := p.advance(m); ok {
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
		m.forget(h)
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
	if m.cfg.MaxStates > 0 && m.kept > m.cfg.MaxStates {
		return ErrFull
	}
	return nil
}

// release drops what only the search needed; events are still checked and
// counted.
func (m *Monitor) release() {
	m.parts = nil
	m.kept = 0
	for _, h := range m.hosts {
		h.states = append([]state(nil), h.states[len(h.states)-1])
	}
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
			h.states = append(h.states[:0], h.states[x:]...)
		}
		left += len(h.states)
	}
	return left
}

// forget drops the numbers of tuples that no kept state has, when there are
// many: a variable that counts takes a new value with every event.
func (m *Monitor) forget(h *host) {
	if len(h.tuples) < 1024 || len(h.tuples) < 4*len(h.states) {
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
	h.tupleID = map[string]int32{}
	for x, t := range tuples {
		h.tupleID[tupleKey(t)] = int32(x)
	}
	m.shrinkValues()
	for _, p := range m.parts {
		p.forget()
	}
}

// shrinkValues makes a new table of the values that are still in use, when most
// are not.
func (m *Monitor) shrinkValues() {
	used := 0
	for _, h := range m.hosts {
		used += len(h.tuples) * len(h.vars)
	}
	if m.values.Len() < 1024 || m.values.Len() < 4*used {
		return
	}
	old := m.values
	m.values = computation.NewValues()
	move := func(ids []computation.ValueID) []computation.ValueID {
		out := make([]computation.ValueID, len(ids))
		for x, id := range ids {
			out[x] = m.values.ID(old.Value(id))
		}
		return out
	}
	for _, h := range m.hosts {
		h.class, h.classID = nil, map[string]int32{}
		h.cur = move(h.cur)
		h.tupleID = map[string]int32{}
		for t := range h.tuples {
			h.tuples[t] = move(h.tuples[t])
			h.tupleID[tupleKey(h.tuples[t])] = int32(t)
		}
	}
}

// End tells that no more events come, and returns whether the predicate holds
// (Poss or Def) for the events that have arrived. Events that still wait for a
// predecessor are an error.
func (m *Monitor) End() (bool, error) {
	if m.detected != nil {
		return true, nil
	}
	for _, h := range m.hosts {
		if len(h.early) > 0 {
			return false, fmt.Errorf("%d events of host %s arrived, but event %d never did", len(h.early), h.name, h.arrived+1)
		}
		for j, x := range h.last {
			if x > m.hosts[j].arrived {
				return false, fmt.Errorf("host %s knows of event %d of host %s, which never arrived", h.name, x, m.hosts[j].name)
			}
		}
	}
	for _, p := range m.parts {
		if p.end(m) {
			return true, nil
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
	d := &Detection{Cut: map[string]int32{}, Where: map[string]map[string]computation.Value{}, Texts: map[string]string{}}
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
