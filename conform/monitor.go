package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"cpor/detect/computation"
	"cpor/system"
)

// Monitor checks a log against a model while the log is written. It is not safe for concurrent use.
//
//	m, err := conform.NewMonitor(ctx, sys, mapping, conform.MonitorOptions{Hosts: hosts})
//	m.Take(0, clock, nil, "sends 5")
//	m.Advance()
//	if m.Refused() { ... m.Place() }
//	fits, err := m.End()
//
// # The search
//
// The nodes and the reduction are those of [Check]. A node that could have a step for an event
// that has not arrived waits for it. An event counts as arrived once all that it depends on has.
//
// The search is lazy: it stops as soon as it has a node whose cut is all that has arrived, and
// takes the node with the largest cut first. Other nodes are open until they are needed. If none is
// open and none waits, no continuation of the log is one of the model, and the log is rejected.
// While a node waits, some continuation may still be one.
//
// The reduction stays sound: condition 1 of the package comment does not hold for a thread that
// could have a step for an event that has not arrived, so what it concludes holds whatever comes.
// A node that waits is expanded again when its event arrives. So each node is at last expanded with
// the events of the whole log, or with a choice that is right for any. The proof needs only that,
// and no particular order.
//
// # Memory
//
// A step keeps the cut or extends it. So a node cannot be reached any more when all nodes that are
// open or wait have larger cuts: it is dropped. When there are twice as many nodes as before, the
// search therefore follows the open nodes with the smallest cuts first, until they have died,
// reached known nodes, or wait. What is left are the nodes that wait, and those with cuts as large:
// about as many as the model has states, for each cut between what the slowest host has logged and
// what all have. They pile up while a host logs nothing although its thread has a visible step.
//
// If there are more than MaxNodes or MaxBytes, those with the smallest cuts are forgotten. An
// execution that was followed to the end still proves that the log is one of the model. But if the
// search fails later, the answer is [Incomplete], and also if a single event needs the exploration
// of more than MaxNodes nodes.
type Monitor struct {
	*walker
	ctx       context.Context
	o         MonitorOptions
	feeds     []feed
	interning bool  // states mean nothing to another process
	unmapped  int64 // events

	seeds    [2]maphash.Seed
	levels   []level
	base     int32 // the events in the cuts of levels[0]
	open     [groups]openList
	waiting  map[place][]*live
	kept     int // nodes and keys
	alive    int // nodes that are open or wait
	settleAt int
	doubt    int // roughly how often following the open nodes was of little use
	trimAt   int // when so many events are kept
	events   int // that are kept
	bytes    int64

	forgotten int64 // nodes
	best      *node
	ahead     *live  // that covered all that had arrived
	why       string // it is incomplete, for good
}

// MonitorOptions configure [NewMonitor].
type MonitorOptions struct {
	// Hosts are all hosts of the log.
	Hosts []string
	// Init has the values of variables before the first event, by host.
	Init map[string]map[string]computation.Value
	// Lost reports whether a host's log may lack its end; nil: none.
	Lost func(host string) bool
	// MaxNodes bounds the nodes that are kept, 0 for [DefaultNodes], and MaxBytes approximately the
	// memory that they take; 0 is no bound.
	MaxNodes int
	MaxBytes int64
}

// arrival is an event that has arrived.
type arrival struct {
	Host  int
	Clock computation.Cut
	Vars  map[string]computation.Value
	Text  string
}

// feed is what has arrived of a host.
type feed struct {
	names binding           // of the host's rule
	vars  map[string]string // of those that some rule names
	taken int32             // events that the search knows, mapped or not
	early []arrival         // that the search does not know yet
}

// live is a node of the search, and what becomes of it.
type live struct {
	node
	state byte // isOpen and so on
	waits []place
	size  int32
	// covers counts the events that have arrived and that its cut, or a step that waits for more,
	// shows.
	covers int32
}

const (
	isOpen = iota
	isWaiting
	isDone
)

// level has the nodes with cuts of one size.
type level struct {
	nodes []*live
	open  [classes][]*live
	alive int
	seen  map[key]struct{}
}

// openList says where the open nodes of a group are.
type openList struct {
	n   int
	top int32 // none has a larger cut
}

// Open nodes are in classes by the cost of the silent steps since the last event, and the
// classes are in groups, as the rounds of Check are: a model that can do much in silence must not
// keep the search from the rest.
const (
	classes = 9
	groups  = 4
)

// costs are the highest costs of the classes but the last.
var costs = [classes - 1]int32{0, 1, 2, 3, 4, 6, 20, 100}

func classOf(cost int32) int {
	c, _ := slices.BinarySearch(costs[:], cost)
	return c
}

func groupOf(class int) int { return max(0, class-(classes-groups)) }

// cost returns what a silent step of a thread costs: more if no later event of its host has
// arrived, because such a step may turn out to be the wrong choice.
func (w *walker) cost(t int) int32 {
	if h := w.plays(t); h >= 0 && w.next(h) == nil {
		return 2
	}
	return 1
}

// What is kept besides the nodes' words, in bytes.
const (
	seenBytes  = 48
	liveBytes  = 200
	eventBytes = 250
)

// minSettle is the number of kept nodes below which none is dropped.
var minSettle = 1 << 12 // less in tests

// NewMonitor returns a monitor that stops its searches when ctx ends. The error is one of
// the mapping or the system, as in [Check].
func NewMonitor(ctx context.Context, sys system.System, mp *Mapping, o MonitorOptions) (*Monitor,
	error) {
	if o.MaxNodes == 0 {
		o.MaxNodes = DefaultNodes
	}
	m := &Monitor{ctx: ctx, o: o, seeds: newSeeds(), waiting: map[place][]*live{},
		settleAt: min(minSettle, o.MaxNodes), trimAt: minSettle,
		interning: sys.Capabilities().Interning != nil}
	var err error
	if m.walker, err = newWalker(sys, newHistory(o.Hosts, o.Lost), mp, false); err != nil {
		return nil, err
	}
	for _, name := range o.Hosts {
		f := feed{names: mp.hostNames(name), vars: map[string]string{}}
		for v, x := range o.Init[name] {
			f.assign(mp, v, x)
		}
		m.feeds = append(m.feeds, f)
	}
	for _, s := range sys.Initial() {
		m.begin(s)
		if n := m.enter(0); n != nil {
			m.queue(n)
		}
	}
	return m, nil
}

// assign notes the value of a variable, if the mapping has a rule about it.
func (f *feed) assign(mp *Mapping, name string, v computation.Value) {
	if !mp.names(name) {
		return
	}
	if text, ok := written(v); ok {
		f.vars[name] = text
	} else {
		delete(f.vars, name)
	}
}

// names reports whether a rule is about a variable of the log.
func (m *Mapping) names(variable string) bool {
	is := func(r ValueRule) bool { return r.Name == variable }
	return slices.ContainsFunc(m.Values, is) || slices.ContainsFunc(m.Events,
		func(r EventRule) bool { return slices.ContainsFunc(r.With, is) })
}

// Take takes an event of a host, which is a number in MonitorOptions.Hosts. The clock says how many
// events of each host it depends on, itself included; the events of a host arrive in their order.
// vars are the variables that it assigns. The monitor keeps clock and vars. The search continues
// with [Monitor.Advance].
func (m *Monitor) Take(host int, clock computation.Cut, vars map[string]computation.Value,
	text string) {
	f := &m.feeds[host]
	f.early = append(f.early, arrival{host, clock, vars, text})
	m.bytes += sizeOf(clock, text)
	for m.deliverNext() {
	}
}

// sizeOf returns about how much memory an event takes.
func sizeOf(clock computation.Cut, text string) int64 {
	return int64(eventBytes + 4*len(clock) + len(text))
}

// deliverNext makes an event known to the search, if the search knows all that it depends on. It
// returns false if there is no such event.
func (m *Monitor) deliverNext() bool {
	for h := range m.feeds {
		f := &m.feeds[h]
		if len(f.early) > 0 && m.caused(&f.early[0]) {
			a := f.early[0]
			f.early[0] = arrival{}
			f.early = f.early[1:]
			m.bytes -= sizeOf(a.Clock, a.Text)
			m.deliver(&a)
			return true
		}
	}
	return false
}

// caused reports whether all that an event depends on is known to the search.
func (m *Monitor) caused(a *arrival) bool {
	for g, k := range a.Clock {
		if g != a.Host && k > m.feeds[g].taken {
			return false
		}
	}
	return true
}

// deliver makes an event known to the search.
func (m *Monitor) deliver(a *arrival) {
	f := &m.feeds[a.Host]
	f.taken++
	for name, v := range a.Vars {
		f.assign(m.mapping, name, v)
	}
	value := func(name string) (string, bool) {
		v, ok := f.vars[name]
		return v, ok
	}
	e, ok := m.mapping.event1(a.Text, value, f.names)
	if !ok {
		m.unmapped++
		return
	}
	e.Index, e.Clock = f.taken, a.Clock
	l := &m.log.hosts[a.Host]
	at := place{int32(a.Host), l.count()}
	l.events = append(l.events, e)
	m.log.total++
	m.events++
	m.bytes += sizeOf(e.Clock, e.Text)
	for _, n := range m.waiting[at] {
		m.reopen(n)
	}
	delete(m.waiting, at)
}

// reopen makes a node that waits an open one.
func (m *Monitor) reopen(n *live) {
	if n.state == isWaiting {
		m.queue(n)
	}
}

// queue makes a node an open one.
func (m *Monitor) queue(n *live) {
	n.state = isOpen
	c := classOf(n.Silent)
	o := &m.open[groupOf(c)]
	o.n++
	o.top = max(o.top, n.taken)
	l := &m.levels[n.taken-m.base]
	l.open[c] = append(l.open[c], n)
}

// enter makes the live state of the machine a node, unless it is known.
func (m *Monitor) enter(silent int32) *live {
	k := m.key(&m.seeds)
	for int(m.taken-m.base) >= len(m.levels) {
		m.levels = append(m.levels, level{seen: map[key]struct{}{}})
	}
	l := &m.levels[m.taken-m.base]
	if _, known := l.seen[k]; known {
		return nil
	}
	l.seen[k] = struct{}{}
	n := &live{node: *m.save()}
	n.Silent = silent
	n.size = int32(liveBytes + 8*len(n.Words) + 4*len(n.Cut) + 4*len(n.Player))
	l.nodes = append(l.nodes, n)
	l.alive++
	m.alive++
	m.kept += 2
	m.bytes += int64(n.size) + seenBytes
	if m.best == nil || n.taken > m.best.taken {
		m.best = &n.node
	}
	return n
}

// Advance continues the search until a node has all that has arrived, or none is open.
func (m *Monitor) Advance() {
	for asked := 1; m.why == "" && !m.covered(); asked++ {
		if asked%64 == 0 && m.ctx.Err() != nil {
			return
		}
		if asked > m.o.MaxNodes {
			m.why = fmt.Sprintf("after %d nodes, none has all that has arrived", asked)
			return
		}
		n := m.deepest()
		if n == nil {
			break
		}
		m.expandNode(n)
		m.bounded()
	}
	m.bounded()
}

// reached reports whether a node has all that has arrived.
func (m *Monitor) reached() bool {
	i := int(m.log.total - m.base)
	return i >= 0 && i < len(m.levels) && m.levels[i].alive > 0
}

// covered reports whether a node has all that has arrived, but for steps that show it in part.
func (m *Monitor) covered() bool {
	return m.reached() || m.ahead != nil && m.ahead.state == isWaiting &&
		m.ahead.covers == m.log.total
}

// front is the level that the search wants to keep: of a node that covers what has arrived, if
// there is one.
func (m *Monitor) front() int32 {
	if !m.reached() && m.covered() {
		return m.ahead.taken
	}
	return m.log.total
}

// deepest takes the open node to continue with: of those in the first group, one with the largest
// cut, and of these one of the least cost. It is nil if none is open.
func (m *Monitor) deepest() *live {
	for g := range m.open {
		o := &m.open[g]
		for o.n > 0 && o.top >= m.base {
			l := &m.levels[o.top-m.base]
			for c := range l.open {
				if groupOf(c) != g {
					continue
				}
				if n := pop(&l.open[c]); n != nil {
					o.n--
					return n
				}
			}
			o.top--
		}
	}
	return nil
}

// pop takes the last of the nodes.
func pop(list *[]*live) *live {
	i := len(*list) - 1
	if i < 0 {
		return nil
	}
	n := (*list)[i]
	(*list)[i] = nil
	*list = (*list)[:i]
	return n
}

// shallowest takes an open node with the smallest cut, nil if none is open before the last level.
// None is open before the level from.
func (m *Monitor) shallowest(from *int32) *live {
	*from = max(*from, m.base)
	for ; *from < m.front() && int(*from-m.base) < len(m.levels); *from++ {
		l := &m.levels[*from-m.base]
		for c := range l.open {
			if n := pop(&l.open[c]); n != nil {
				m.open[groupOf(c)].n--
				return n
			}
		}
	}
	return nil
}

// expandNode adds the successors of an open node; then it is done, or waits.
func (m *Monitor) expandNode(n *live) {
	m.load(&n.node)
	var fresh []*live
	m.successors(func(mv move, shown []int32) bool {
		silent := int32(0)
		if len(shown) == 0 {
			silent = n.Silent + m.cost(mv.Thread)
		}
		next := m.enter(silent)
		if next != nil {
			fresh = append(fresh, next)
		}
		return next != nil
	})
	for _, f := range slices.Backward(fresh) { // the first is taken first
		m.queue(f)
	}
	if len(m.pending) == 0 {
		m.drop(n)
		return
	}
	n.state = isWaiting
	if n.covers = n.taken + m.partly; n.covers == m.log.total {
		m.ahead = n
	}
	for _, at := range m.pending {
		if !slices.Contains(n.waits, at) {
			n.waits = append(n.waits, at)
			m.waiting[at] = append(m.waiting[at], n)
		}
	}
}

// drop ends a node that is neither open nor waits any more. Its key stays until its level goes.
func (m *Monitor) drop(n *live) {
	n.state = isDone
	m.levels[n.taken-m.base].alive--
	m.alive--
	m.kept--
	m.bytes -= int64(n.size)
	if &n.node != m.best { // which is needed for the explanation
		n.Words, n.Cut, n.Player = nil, nil, nil
	}
}

// bounded keeps the number of nodes within its bounds.
func (m *Monitor) bounded() {
	if m.events >= m.trimAt {
		m.trim()
	}
	if m.kept < m.settleAt && !m.over(1) {
		return
	}
	from, before := m.base, m.kept
	for budget := m.kept >> m.doubt; budget > 0 && m.ctx.Err() == nil; budget-- {
		n := m.shallowest(&from)
		if n == nil {
			break
		}
		m.expandNode(n)
		m.leave()
	}
	m.leave()
	m.trim()
	if m.over(1) {
		m.forget()
	}
	m.settleAt = min(max(minSettle, 2*m.kept), m.o.MaxNodes+1)
	if m.kept > before/2 { // it was of little use
		m.doubt = min(m.doubt+2, 6)
	} else {
		m.doubt = max(m.doubt-2, 0)
	}
}

// over reports whether more than a part of what is allowed is kept.
func (m *Monitor) over(part int) bool {
	return m.kept*part > m.o.MaxNodes || m.o.MaxBytes > 0 && m.bytes*int64(part) > m.o.MaxBytes
}

// leave drops the levels that no step can reach any more.
func (m *Monitor) leave() {
	for len(m.levels) > 0 && m.levels[0].alive == 0 {
		m.dropLevel()
	}
}

func (m *Monitor) dropLevel() {
	l := &m.levels[0]
	m.kept -= len(l.seen)
	m.bytes -= int64(len(l.seen)) * seenBytes
	*l = level{}
	m.levels = m.levels[1:]
	m.base++
}

// forget drops the nodes with the smallest cuts, until only half of what is allowed is kept.
func (m *Monitor) forget() {
	front := m.front()
	if !m.covered() {
		front = m.base + int32(len(m.levels)) - 1
	}
	for m.over(2) && m.base < front {
		l := &m.levels[0]
		for c := range l.open {
			m.open[groupOf(c)].n -= len(l.open[c])
		}
		for _, n := range l.nodes {
			if n.state != isDone {
				m.drop(n)
				m.forgotten++
			}
		}
		m.dropLevel()
	}
	m.trim()
	if m.over(1) {
		m.why = fmt.Sprintf("the limit of %d nodes was reached", m.o.MaxNodes)
		if m.kept <= m.o.MaxNodes {
			m.why = fmt.Sprintf("the limit of %d bytes was reached", m.o.MaxBytes)
		}
	}
}

// trim drops the events that are in the cuts of all nodes, and what is left of nodes that are done.
func (m *Monitor) trim() {
	least := slices.Clone(m.best.Cut)
	for i := range m.levels {
		l := &m.levels[i]
		l.nodes = slices.DeleteFunc(l.nodes, func(n *live) bool { return n.state == isDone })
		for _, n := range l.nodes {
			for h, k := range n.Cut {
				least[h] = min(least[h], k)
			}
		}
	}
	for at, list := range m.waiting {
		list = slices.DeleteFunc(list, func(n *live) bool { return n.state == isDone })
		if m.waiting[at] = list; len(list) == 0 {
			delete(m.waiting, at)
		}
	}
	for h := range m.log.hosts {
		l := &m.log.hosts[h]
		n := max(0, min(int(least[h]-1-l.base), len(l.events))) // the last one is kept
		for i := range l.events[:n] {
			e := &l.events[i]
			m.bytes -= sizeOf(e.Clock, e.Text)
			*e = event{}
		}
		l.events, l.base = l.events[n:], l.base+int32(n)
		m.events -= n
	}
	m.trimAt = max(minSettle, 2*m.events)
}

// End says that no more events come, completes the search, and returns whether the verdict is
// Accepted.
func (m *Monitor) End() (bool, error) {
	for h := range m.feeds {
		if n := len(m.feeds[h].early); n > 0 {
			return false, fmt.Errorf("%d events of host %s depend on events that never arrived", n,
				m.log.names[h])
		}
	}
	if m.log.total == 0 {
		return false, fmt.Errorf("none of the %d events of the log is mapped: see the lines that "+
			"begin with %s", m.unmapped, directive)
	}
	if m.log.ended {
		return m.reached(), nil
	}
	m.log.ended = true
	for i := range m.levels {
		for _, n := range m.levels[i].nodes {
			m.reopen(n)
		}
	}
	clear(m.waiting)
	m.Advance()
	return m.reached(), nil
}

// Verdict is the answer so far. Before the end it is [Accepted] if the model can do what
// has arrived.
func (m *Monitor) Verdict() Verdict {
	switch {
	case m.reached():
		return Accepted
	case m.why == "" && m.alive == 0 && m.forgotten == 0:
		return Rejected
	}
	return Incomplete
}

// Why says why the verdict is Incomplete.
func (m *Monitor) Why() string {
	switch {
	case m.why != "":
		return m.why
	case m.alive == 0 && m.forgotten > 0:
		return fmt.Sprintf("no execution is left, but %d nodes were forgotten because of the limit",
			m.forgotten)
	case m.ctx.Err() != nil:
		return context.Cause(m.ctx).Error()
	}
	return "no execution of the model has all that has arrived, but some wait for events"
}

// Stuck reports whether the verdict stays Incomplete whatever arrives.
func (m *Monitor) Stuck() bool { return m.why != "" || m.alive == 0 && m.forgotten > 0 }

// Refused reports whether no continuation of what has arrived is one of the model.
func (m *Monitor) Refused() bool { return m.Verdict() == Rejected }

// Place says how far the log could be followed. The live state of the search is lost, so it
// continues with the next event only.
func (m *Monitor) Place() Place {
	m.load(m.best)
	p := m.place()
	p.Offers = m.offered()
	return p
}

// Size returns how many nodes and keys are kept, and about how much memory they and the
// events take.
func (m *Monitor) Size() (nodes int, bytes int64) { return m.kept, m.bytes }

// Forgotten returns how many nodes the limit has cost.
func (m *Monitor) Forgotten() int64 { return m.forgotten }

// Unmapped returns how many events no rule names.
func (m *Monitor) Unmapped() int64 { return m.unmapped }

// The form of a monitor in JSON.
type (
	monitorJSON struct {
		Unmapped  int64      `json:"unmapped,omitempty"`
		Forgotten int64      `json:"forgotten,omitempty"`
		Why       string     `json:"why,omitempty"`
		Hosts     []hostJSON `json:"hosts"`
		Nodes     []*node    `json:"nodes"`
		Best      *node      `json:"best"`
	}
	hostJSON struct {
		Vars   map[string]string `json:"vars,omitempty"`
		Taken  int32             `json:"taken"`
		Early  []arrival         `json:"early,omitempty"`
		Base   int32             `json:"base"`
		Events []event           `json:"events,omitempty"`
	}
)

// Save returns the monitor as JSON, for Restore of one with the same system, mapping and options.
func (m *Monitor) Save() ([]byte, error) {
	if m.interning {
		return nil, errors.New("the states of this system mean nothing to another process")
	}
	j := monitorJSON{Unmapped: m.unmapped, Forgotten: m.forgotten, Why: m.why, Best: m.best}
	for h := range m.feeds {
		f, l := &m.feeds[h], &m.log.hosts[h]
		j.Hosts = append(j.Hosts, hostJSON{f.vars, f.taken, f.early, l.base, l.events})
	}
	for i := range m.levels {
		for _, n := range m.levels[i].nodes {
			if n.state != isDone {
				j.Nodes = append(j.Nodes, &n.node)
			}
		}
	}
	return json.Marshal(j)
}

var errSaved = errors.New("what was saved is not of this model and mapping")

// Restore makes a new monitor what another one was when it was saved.
func (m *Monitor) Restore(text []byte) error {
	var j monitorJSON
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	if len(j.Hosts) != len(m.feeds) {
		return errSaved
	}
	m.unmapped, m.forgotten, m.why = j.Unmapped, j.Forgotten, j.Why
	m.levels, m.open, m.base, m.kept, m.alive, m.bytes = nil, [groups]openList{}, 0, 0, 0, 0
	for h := range j.Hosts {
		if err := m.restoreHost(h, &j.Hosts[h]); err != nil {
			return err
		}
	}
	m.base = m.log.total
	for _, n := range j.Nodes {
		if err := m.restorable(n); err != nil {
			return err
		}
		m.base = min(m.base, n.taken)
	}
	for _, n := range j.Nodes {
		m.load(n)
		if entered := m.enter(n.Silent); entered != nil {
			m.queue(entered)
		}
	}
	if err := m.restorable(j.Best); err != nil {
		return err
	}
	m.load(j.Best)
	m.key(&m.seeds) // encodes
	m.best = m.save()
	return nil
}

// restorable completes a saved node and checks that it fits the log.
func (m *Monitor) restorable(n *node) error {
	if n == nil || len(n.Cut) != len(m.cut) || len(n.Words) == 0 ||
		len(m.roles.open) > 0 && len(n.Player) != len(m.cut) {
		return errSaved
	}
	for h, k := range n.Cut {
		if l := &m.log.hosts[h]; k < l.base || k > l.count() {
			return errSaved
		}
		n.taken += k
	}
	return nil
}

func (m *Monitor) restoreHost(h int, j *hostJSON) error {
	f, l := &m.feeds[h], &m.log.hosts[h]
	f.taken, f.early = j.Taken, j.Early
	if f.vars = j.Vars; f.vars == nil {
		f.vars = map[string]string{}
	}
	for _, a := range f.early {
		if len(a.Clock) != len(m.feeds) {
			return errSaved
		}
		m.bytes += sizeOf(a.Clock, a.Text)
	}
	unknownFit := func(x fit) bool { return x.Rule < 0 || x.Rule >= len(m.mapping.Events) }
	unknownValue := func(x wanted) bool { return x.Rule < 0 || x.Rule >= len(m.mapping.Values) }
	for _, e := range j.Events {
		if len(e.Clock) != len(m.feeds) || slices.ContainsFunc(e.Fits, unknownFit) ||
			slices.ContainsFunc(e.Values, unknownValue) {
			return errSaved
		}
		m.bytes += sizeOf(e.Clock, e.Text)
	}
	l.base, l.events = j.Base, j.Events
	m.events += len(l.events)
	m.log.total += l.count()
	return nil
}
