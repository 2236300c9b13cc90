package conform

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"

	"cpor/detect/computation"
	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/trace"
)

// Verdict is the answer of [Check].
type Verdict string

// The verdicts.
const (
	Accepted   Verdict = "accepted"   // the model has an execution that shows the log
	Rejected   Verdict = "rejected"   // it has none
	Incomplete Verdict = "incomplete" // a limit or an interruption came first
)

// Options configure [Check].
type Options struct {
	// Lost reports whether the log of a host may lack its end: the host may have done more than
	// the log shows. Nil means that no host has.
	Lost func(host string) bool
	// MaxNodes bounds the stored nodes; 0 means [DefaultNodes]. A node takes about 50 bytes.
	MaxNodes int
	// NoReduction explores all steps at every node.
	NoReduction bool
}

// DefaultNodes is Options.MaxNodes if that is 0.
const DefaultNodes = 10_000_000

// Result is what [Check] found out.
type Result struct {
	Verdict Verdict
	// Why says why it is Incomplete.
	Why string
	// Events are the events of the log that the mapping maps, Unmapped how many others there are.
	Events, Unmapped int
	// Followed are the events of the longest prefix of the log that the search could follow, Cut
	// the prefix: how many events of each host, as in [computation.Cut].
	Followed int
	Cut      computation.Cut
	// Trace is an execution of the model that shows this prefix, and At for each event of it, in
	// the order of the execution, the step that shows it, counted from 0.
	Trace *trace.Trace
	At    []Match
	// Violations are the properties that the model violates in Trace. Other executions that show
	// the same events may violate others, or none.
	Violations []Violated
	// Hosts are the names of the threads that play each host in Trace; "" if none has yet.
	Hosts []string
	// Next are the events that come next in the log, and Offers what the model can do there; both
	// are for Rejected only.
	Next   []Expected
	Offers []Offer
	// Nodes are the stored nodes, and Steps the executed steps of the model.
	Nodes, Steps int
}

// Match is an event and the step that shows it.
type Match struct {
	Event computation.Event
	Step  int
}

// Violated is a property that an execution violates.
type Violated struct {
	Steps     int // after how many steps
	Violation *system.Violation
}

// Check decides whether the model has an execution that shows the log. The error is a mistake in
// the mapping or a system whose steps do not say what they do.
func Check(ctx context.Context, sys system.System, c *computation.Computation, mp *Mapping,
	o Options) (*Result, error) {
	s, err := newSearch(sys, c, mp, o)
	if err != nil {
		return nil, err
	}
	for _, bound := range silences {
		if s.silence = bound; s.round(ctx) || s.why != "" || !s.cutOff {
			break
		}
	}
	return s.result(), nil
}

// silences bound the silent steps between two events, one round of the search after the other. In
// a model that can do much in silence, a search without a bound would get lost there.
var silences = []int32{6, 20, 100, math.MaxInt32}

// round searches from all initial states with the present bound.
func (s *search) round(ctx context.Context) bool {
	s.cutOff = false
	clear(s.seen)
	for i := range s.sys.Initial() {
		if s.run(ctx, i) {
			return true
		}
		if s.why != "" {
			break
		}
	}
	return false
}

// search is a depth-first search for a node whose cut is the whole log.
type search struct {
	sys     system.System
	c       *computation.Computation
	mapping *Mapping
	o       Options
	m       system.Machine
	futures system.Futures
	story   system.Narrating
	obs     system.Observers

	hosts [][]event
	lost  []bool
	total int

	initial int     // of the present run
	cut     []int32 // by host: mapped events
	taken   int     // their number
	// player is the thread of each host of which no rule says who plays it, -1 for none yet.
	player []int32
	roles  *roles

	seen   map[[2]uint64]int32 // with the fewest silent steps since the last event
	seeds  [2]maphash.Seed
	frames []frame
	words  system.State
	bytes  []byte
	deeds  []deed
	shows  map[system.Loc]bool // whether the log shows the variable

	silence int32 // the bound of this round
	cutOff  bool  // it kept a step from being taken

	steps int
	asked int // how often the search has asked whether to stop
	best  *reached
	why   string
}

// reached is a node with a cut that no other one exceeded.
type reached struct {
	initial int
	taken   int
	cut     []int32
	player  []int32
	path    *path
}

// path is the way to a node, the last step first.
type path struct {
	before *path
	step   trace.Step
	silent int32   // how many steps since the last event
	hosts  []int32 // of the events that the step showed
}

// frame is a node on the way to the present one.
type frame struct {
	mark   system.Mark
	moves  []move
	next   int
	single bool // the moves are those of one thread
	fresh  bool // one of them has led to a new node
	last   int  // the thread that stepped here
	path   *path
	bound  []int32 // the hosts that the step has found players for
}

// move is a step, and the hosts that get their players by it: those of the threads that do
// something visible for the first time, in this order.
type move struct {
	trace.Step
	hosts []int32
}

func newSearch(sys system.System, c *computation.Computation, mp *Mapping,
	o Options) (*search, error) {
	s := &search{sys: sys, c: c, mapping: mp, o: o, m: sys.NewMachine(),
		obs: system.ObserversOf(sys), shows: map[system.Loc]bool{},
		seen: map[[2]uint64]int32{}}
	caps, of := s.m.Capabilities(), sys.Capabilities()
	if s.story = caps.Narrating; s.story == nil {
		return nil, errors.New("the steps of this system do not say what they print or send")
	}
	if !o.NoReduction && of.WhyIrreducible(false) == "" {
		s.futures = caps.Futures
	}
	if len(mp.Values) > 0 && caps.Showing == nil {
		return nil, errors.New("this system does not show the values of its variables")
	}
	s.m.Track(true)
	s.story.Narrate(true)
	s.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	var unmapped int
	s.hosts, unmapped = mp.events(c)
	for h := range s.hosts {
		s.total += len(s.hosts[h])
		s.lost = append(s.lost, o.Lost != nil && o.Lost(c.Name(h)))
	}
	s.roles = newRoles(mp, c, s.m)
	if s.total == 0 {
		return nil, fmt.Errorf("none of the %d events of the log is mapped: see the lines that "+
			"begin with %s", unmapped, directive)
	}
	if o.MaxNodes == 0 {
		s.o.MaxNodes = DefaultNodes
	}
	return s, nil
}

// run searches from an initial state and reports whether the whole log was found.
func (s *search) run(ctx context.Context, initial int) bool {
	s.initial = initial
	s.m.Load(s.sys.Initial()[initial])
	s.cut = make([]int32, len(s.hosts))
	s.player = make([]int32, len(s.hosts))
	for h := range s.player {
		s.player[h] = -1
	}
	s.taken, s.frames = 0, s.frames[:0]
	s.enter(0, nil, nil)
	for len(s.frames) > 0 {
		if s.taken == s.total {
			return true
		}
		if s.stop(ctx) {
			return false
		}
		f := &s.frames[len(s.frames)-1]
		if f.next == len(f.moves) && f.single && !f.fresh && !sabotage.Is("conform/proviso") {
			f.single = false
			f.moves, f.next = s.all(f.moves[:0], f.last, f.moves[0].Thread), 0
		}
		if f.next == len(f.moves) {
			s.leave()
			continue
		}
		f.next++
		s.step(f.path, f.moves[f.next-1])
	}
	return s.taken == s.total
}

// stop reports whether a limit was met.
func (s *search) stop(ctx context.Context) bool {
	if len(s.seen) >= s.o.MaxNodes {
		s.why = fmt.Sprintf("the limit of %d nodes was reached", s.o.MaxNodes)
		return true
	}
	if s.asked++; s.asked%64 == 0 && ctx.Err() != nil {
		s.why = context.Cause(ctx).Error()
		return true
	}
	return false
}

// step executes a move from the present node, and enters the node that it leads to if that is new.
func (s *search) step(before *path, mv move) {
	mark := s.m.Mark()
	p := &path{before: before, step: mv.Step, silent: 1}
	if before != nil {
		p.silent = before.silent + 1
	}
	var bound []int32
	ok := s.execute(mv.Step).Kind == system.Moved
	for i := 0; i < len(s.deeds) && ok; i++ {
		d := &s.deeds[i]
		h := s.plays(d.thread)
		if h == undecided && len(bound) < len(mv.hosts) {
			h = mv.hosts[len(bound)]
			bound = mv.hosts[:len(bound)+1]
			s.player[h] = int32(d.thread)
		}
		var shown bool
		if shown, ok = s.fits(d, h); shown {
			s.cut[h]++
			s.taken++
			p.hosts, p.silent = append(p.hosts, h), 0
		}
	}
	if p.silent > s.silence {
		ok, s.cutOff = false, true
	}
	if ok && s.enter(mv.Thread, p, bound) {
		n := len(s.frames)
		s.frames[n-2].fresh = true
		s.frames[n-1].mark = mark
		return
	}
	s.retreat(p.hosts, bound)
	s.m.Rewind(mark)
}

// execute executes a step and notes its visible deeds.
func (s *search) execute(st trace.Step) system.Outcome {
	s.steps++
	s.deeds = s.deeds[:0]
	out := s.m.Step(st.Thread, st.Alt)
	if out.Kind == system.Moved {
		story := s.story.Story()
		s.deeds = s.mapping.visible(s.deeds, &story, st.Thread)
	}
	return out
}

// plays returns the host that a thread of the live state plays: [nobody], [undecided], or
// [unlogged] if the log has no such host.
func (s *search) plays(t int) int32 {
	if h := s.roles.of(s.m.ThreadName(t)); h != undecided {
		return h
	}
	for h, p := range s.player {
		if int(p) == t {
			return int32(h)
		}
	}
	return undecided
}

// fits reports whether a deed by a thread that plays host h can happen after the present cut, and
// whether the log shows it.
func (s *search) fits(d *deed, h int32) (shown, ok bool) {
	switch {
	case h == nobody:
		return false, true
	case h < 0:
		return false, false
	case int(s.cut[h]) == len(s.hosts[h]):
		return false, s.lost[h]
	}
	e := &s.hosts[h][s.cut[h]]
	if !s.ready(e) || e.matches(s.m, d) != nil {
		return false, false
	}
	return true, true
}

// ready reports whether the cut contains all that an event depends on.
func (s *search) ready(e *event) bool {
	for g, n := range e.needs {
		if s.cut[g] < n && !sabotage.Is("conform/hosts") {
			return false
		}
	}
	return true
}

// retreat takes back what a step has added to the cut.
func (s *search) retreat(hosts, bound []int32) {
	for _, h := range hosts {
		s.cut[h]--
		s.taken--
	}
	for _, h := range bound {
		s.player[h] = -1
	}
}

// leave returns to the node before.
func (s *search) leave() {
	f := &s.frames[len(s.frames)-1]
	if f.path != nil {
		s.retreat(f.path.hosts, f.bound)
		s.m.Rewind(f.mark)
	}
	s.frames = s.frames[:len(s.frames)-1]
}

// enter makes the live state a node, unless it is known.
func (s *search) enter(last int, p *path, bound []int32) bool {
	s.words = s.m.Encode(s.words)
	silent := int32(0)
	if p != nil && s.silence < math.MaxInt32 {
		silent = p.silent
	}
	if !s.add(silent) {
		return false
	}
	if s.best == nil || s.taken > s.best.taken {
		s.best = &reached{s.initial, s.taken, append([]int32(nil), s.cut...),
			append([]int32(nil), s.player...), p}
	}
	n := len(s.frames)
	var moves []move
	if n < cap(s.frames) {
		moves = s.frames[:n+1][n].moves[:0] // of a node that was left
	}
	moves, single := s.expand(moves, last)
	s.frames = append(s.frames, frame{moves: moves, single: single, last: last, path: p,
		bound: bound})
	return true
}

// add stores the present node and reports whether it is new, or was reached only by more silent
// steps.
func (s *search) add(silent int32) bool {
	s.bytes = s.bytes[:0]
	for _, w := range s.words {
		s.bytes = binary.NativeEndian.AppendUint64(s.bytes, w)
	}
	for h, k := range s.cut {
		s.bytes = binary.NativeEndian.AppendUint32(s.bytes, uint32(k))
		s.bytes = binary.NativeEndian.AppendUint32(s.bytes, uint32(s.player[h]))
	}
	key := [2]uint64{maphash.Bytes(s.seeds[0], s.bytes), maphash.Bytes(s.seeds[1], s.bytes)}
	if before, ok := s.seen[key]; ok && before <= silent {
		return false
	}
	s.seen[key] = silent
	return true
}
