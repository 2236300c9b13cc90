package machine

import (
	"fmt"
	"math/bits"
	"slices"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Budget is how many steps a process may take inside an atomic or a d_step before that counts as
// endless.
const Budget = 1 << 18

// maxTracked is how many steps are taken to find the accesses of all paths through an atomic
// sequence.
const maxTracked = 1 << 16

// process type, compiled.
type proctype struct {
	*program.Proc
	lay      region
	chans    []*channel
	claims   []exclusive
	states   []state
	ready    bool // one of the states is
	provided eval
	inits    []func(m *Machine) // the locals' initial values
	first    int32              // the number of its first control state among all
}

// state is a control state, compiled.
type state struct {
	edges   []*edge
	end     bool // the process may wait here forever
	final   bool // only the death of the process is left
	ready   bool // the process may take part in a rendezvous as the receiver
	waits   bool // what the process can do here depends on timeout
	accept  bool
	prog    bool
	escapes []escape // tried before the edges
	fall    *state   // in a d_step: where control goes if nothing is executable
	src     *program.State
}

// edge is one step, compiled.
type edge struct {
	kind   program.Kind
	to     int32
	atomic bool
	plain  bool                  // enabled if can is nil or says so
	checks bool                  // a send or receive may break a claim of another process
	leaves bool                  // of a d_step: it ends it
	can    func(m *Machine) bool // nil: always
	do     func(m *Machine)      // nil: nothing but the move
	send   *message              // of a send
	recv   *receiver             // of a receive
	inner  *state                // of a d_step
	guards []*edge               // of a d_step: one of them has to be executable
	dead   []scalar              // locals that are 0 behind it
	src    *program.Edge
}

// escape is an edge of an unless's second part.
type escape struct {
	e    *edge
	from *program.State
}

// message is a send.
type message struct {
	ch     eval
	args   []eval
	sorted bool
}

// receiver is a receive.
type receiver struct {
	ch     eval
	args   []recvArg
	random bool
	peek   bool
}

type recvArg struct {
	match eval  // the value that the field must have
	store store // where it goes
}

type (
	eval  func(m *Machine) int32
	store func(m *Machine, v int32)
)

// option is one enabled step of a process; by a rendezvous also the other
// side's.
type option struct {
	e     *edge
	other int32 // the process that receives; -1
	re    *edge // its edge
}

// inst is a channel that exists.
type inst struct {
	c    *channel
	base int32 // the first word of its region
}

// answer is the cached answer to a question about the loaded state.
type answer uint8

const (
	unasked answer = iota
	yes
	no
)

// kept is what the first alternative of a step has computed for the others.
type kept struct {
	t    int // -1: nothing
	log  int // the length of the undo log
	opts []option
}

// all is the accesses of all alternatives of a step.
type all struct {
	t   int // -1: nothing
	log int // the length of the undo log
	acc []system.Access
}

type undo struct {
	word int32 // -1: the processes changed
	old  uint64
}

// Machine is a live state of a [System]. It implements [system.Machine].
type Machine struct {
	sys   *System
	words []uint64
	end   int32   // words of the live state
	base  []int32 // by process: its first word
	types []uint8 // by process: its type
	n     int     // processes
	chans []inst
	log   []undo
	track bool // accesses are told
	learn bool // what a step reads and writes is noted
	watch bool // one of both
	hash  uint64
	acc   []system.Access

	// The process whose step is being executed.
	t    int
	fb   int32
	proc *proctype

	opts     []option
	timeout  bool    // timeout is true
	msg      []int32 // what is being sent
	viol     *system.Violation
	fatal    bool // the violation ends the search, as it does SPIN's
	failed   int  // violations of the step
	at       *edge
	told     []told  // the edges of the step, while tracking is on
	said     []int32 // the messages of told
	story    story
	diedAt   system.Pos // where the process ended that the step ended
	depth    int        // of questions about other processes
	moving   answer     // whether a process can move in the loaded state
	vals     []int32    // arguments of processes that are being created
	kept     kept       // the options of the last Step
	moves    []claimMove
	claimWay []*edge     // of the move that claimFrom is at, while tracking is on
	claimed  []*edge     // of the claim's move in the last step, while tracking is on
	goesOn   func() bool // if not nil: asked behind each statement whether the step is to continue
	prefers  func() int  // if not nil: which of opts a step by its choices takes behind them
	stutter  bool        // no process can move, and the claim continues alone
	chained  bool        // the step continues after a choice
	all      all         // the accesses of such a step
	notes    notes       // of the step, while learning is on
	came     []int32     // the counters of the step, while it is watched
	edges    int         // taken since somebody began to count
	path     []choice    // of the last step
	tooDeep  bool        // the number of the alternative after it has too many digits
	counted  counted
	seen     []uint64 // how often processes came to their control states, from proctype.first
	round    uint32   // see system.Counters.Round
	repeat   repeat
	// What Future has answered, by thread, process type and control state.
	footprints map[[3]int]*system.Footprint
}

func (m *Machine) set(word int32, v uint64) {
	old := m.words[word]
	if old == v {
		return
	}
	m.log = append(m.log, undo{word, old})
	if m.track {
		m.hash ^= system.HashWord(word, old) ^ system.HashWord(word, v)
	}
	m.words[word] = v
}

func (m *Machine) setBits(word int32, shift, width uint, v uint64) {
	mask := (uint64(1)<<width - 1) << shift
	m.set(word, m.words[word]&^mask|v<<shift&mask)
}

// put stores a value that depends only on what the step has read.
func (m *Machine) put(base int32, l *scalar, v int32) {
	if m.learn {
		m.wrote(base+l.word, l.mask)
	}
	m.overwrite(base, l, v)
}

func (m *Machine) overwrite(base int32, l *scalar, v int32) {
	w := base + l.word
	m.set(w, m.words[w]&^l.mask|uint64(uint32(v))<<l.shift&l.mask)
}

// Load implements system.Machine.
func (m *Machine) Load(s system.State) {
	if len(m.words) < len(s) {
		m.words = make([]uint64, len(s)+32)
	}
	clear(m.words[copy(m.words, s):]) // as processes that come into being find them
	m.log = m.log[:0]
	m.hash = 0
	m.acc = m.acc[:0]
	m.moving = unasked
	m.kept.t, m.all.t, m.counted.t = -1, -1, -1
	if !m.placed() {
		m.rebuild()
	}
}

// placed reports whether the processes are those that rebuild found last.
func (m *Machine) placed() bool {
	if m.n == 0 || m.n != int(m.words[0]&0xff) {
		return false
	}
	for t, at := range m.base {
		if m.words[at]&0xff != uint64(m.types[t]) {
			return false
		}
	}
	return true
}

// rebuild finds the processes and their channels in the words.
func (m *Machine) rebuild() {
	m.n = int(m.words[0] & 0xff)
	m.base, m.types = m.base[:0], m.types[:0]
	m.chans = append(m.chans[:0], m.sys.chans...)
	at := int32(m.sys.globals.words)
	for range m.n {
		m.base = append(m.base, at)
		m.types = append(m.types, uint8(m.words[at]))
		p := m.sys.procs[m.words[at]&0xff]
		for _, c := range p.chans {
			m.chans = append(m.chans, inst{c, at})
		}
		at += int32(p.lay.words)
	}
	m.end = at
}

// Encode implements system.Machine.
func (m *Machine) Encode(dst system.State) system.State {
	return append(dst[:0], m.words[:m.end]...)
}

// Changed implements system.Changing. After many writes, or where processes came or went, comparing
// is as fast.
func (m *Machine) Changed(dst []int32) ([]int32, bool) {
	if len(m.log) > maxChanged {
		return dst, false
	}
	for i := range m.log {
		if m.log[i].word < 0 {
			return dst, false
		}
		dst = append(dst, m.log[i].word)
	}
	return dst, true
}

const maxChanged = 16

// Hash implements system.Machine.
func (m *Machine) Hash() uint64 { return m.hash }

// Track implements system.Machine.
func (m *Machine) Track(on bool) { m.track, m.watch = on, on || m.learn }

// NumThreads implements system.Machine.
func (m *Machine) NumThreads() int {
	if m.sys.claim != nil {
		return m.alone() + 1 // the claim's own steps
	}
	return m.n
}

// Accesses implements system.Machine.
func (m *Machine) Accesses() []system.Access { return m.acc }

// Mark implements system.Machine.
func (m *Machine) Mark() system.Mark { return system.Mark(len(m.log)) }

// Rewind implements system.Machine.
func (m *Machine) Rewind(mark system.Mark) {
	if int(mark) < m.kept.log {
		m.kept.t = -1
	}
	if int(mark) < m.all.log {
		m.all.t = -1
	}
	if int(mark) < m.counted.log {
		m.counted.t = -1
	}
	changed := false
	for i := len(m.log) - 1; i >= int(mark); i-- {
		u := m.log[i]
		if u.word < 0 {
			changed = true
			continue
		}
		if m.track {
			m.hash ^= system.HashWord(u.word, m.words[u.word]) ^ system.HashWord(u.word, u.old)
		}
		m.words[u.word] = u.old
	}
	m.log = m.log[:mark]
	if changed {
		m.rebuild()
	}
}

// enter makes t the process whose step is executed.
func (m *Machine) enter(t int) {
	m.t = t
	m.fb = m.base[t]
	m.proc = m.sys.procs[m.words[m.fb]&0xff]
}

func (m *Machine) pc(t int) int { return int(m.words[m.base[t]] >> pcShift & 0xffff) }

func (m *Machine) setPC(to int32) {
	if m.track {
		m.touch(m.sys.locControl(m.t), true)
		if m.proc.ready && (m.proc.states[m.pc(m.t)].ready || m.proc.states[to].ready) {
			m.touch(m.sys.locReady(m.t), true)
		}
	}
	if m.learn {
		m.wrote(m.fb, pcMask)
	}
	m.set(m.fb, m.words[m.fb]&^pcMask|uint64(to)<<pcShift)
	m.tellSeen()
	m.come(m.proc.first + to)
}

// come counts that a process has reached a control state. While accesses are recorded, a step
// may be taken only to find them, so stepProcess counts at the end.
func (m *Machine) come(place int32) {
	if m.watch && m.sys.claim == nil {
		m.came = append(m.came, place)
		return
	}
	m.seen[place]++
}

// fail records a violation of the step that is being executed. A fatal one ends
// SPIN's search.
func (m *Machine) fail(kind system.ViolationKind, pos syntax.Pos, fatal bool, format string,
	args ...any) {
	m.failed++
	m.fatal = m.fatal || fatal
	if m.viol == nil {
		m.viol = &system.Violation{Kind: kind, Message: fmt.Sprintf(format, args...),
			Pos: position(pos)}
	}
}

func (m *Machine) here() syntax.Pos {
	if m.at != nil && m.at.src != nil {
		return m.at.src.Pos
	}
	return syntax.Pos{}
}

// Step implements system.Machine.
func (m *Machine) Step(t int, alt uint64) system.Outcome {
	if m.sys.claim != nil {
		return m.stepClaim(t, alt)
	}
	return m.stepProcess(t, alt)
}

// stepProcess is Step of a process.
func (m *Machine) stepProcess(t int, alt uint64) system.Outcome {
	if !m.watch {
		return m.step(t, alt)
	}
	defer func() {
		for _, place := range m.came {
			m.seen[place]++
		}
	}()
	mark := m.Mark()
	m.edges = 0
	out := m.step(t, alt)
	if !m.track || !m.chained || alt == 0 && out.Next == 0 {
		return out
	}
	// Any of the alternatives reads what decides which alternatives exist, so each shows the
	// accesses of all.
	if m.all.t != t || m.all.log != int(mark) {
		m.all.acc = m.all.acc[:0]
		a, more := uint64(0), true
		if alt == 0 { // the first one has just been taken
			m.all.acc = append(m.all.acc, m.acc...)
			a, more = out.Next, out.Next != 0
		} else {
			m.edges = 0
		}
		m.Rewind(mark)
		for more {
			if m.edges > maxTracked {
				// There are too many. Every transition reads where its own process is, so this
				// one now depends on all.
				for u := range program.MaxProcesses {
					m.all.acc = addAccess(m.all.acc, m.sys.locControl(u), true)
				}
				break
			}
			o := m.step(t, a)
			for _, x := range m.acc {
				m.all.acc = addAccess(m.all.acc, x.Loc, x.Write)
			}
			m.Rewind(mark)
			a, more = o.Next, o.Next != 0
		}
		m.all.t, m.all.log = t, int(mark)
		out = m.step(t, alt)
	}
	// another alternative may read what one alternative does
	m.acc = system.Plain(append(m.acc[:0], m.all.acc...))
	return out
}

// Alternatives are numbered by their choices, each a digit of a number whose bases are the
// numbers of options, so any of them can be taken without the previous ones. Where that needs
// more bits than a number has (a loop in an atomic that may end in each iteration), alternatives
// are counted instead, from the first one on: deep is set in their numbers.
const deep = 1 << 63

// choice is a choice within a transition.
type choice struct{ taken, of uint64 }

// counted is the alternative that was taken last of those that are counted.
type counted struct {
	t    int // -1: none
	log  int // the length of the undo log
	n    uint64
	path []choice
}

// step is Step, with the accesses of the alternative alone.
func (m *Machine) step(t int, alt uint64) system.Outcome {
	if alt&deep != 0 {
		return m.stepCounted(t, alt&^deep, nil)
	}
	mark := m.Mark()
	out := m.follow(t, alt, nil)
	if !m.tooDeep {
		return out
	}
	path := append([]choice(nil), m.path...)
	m.Rewind(mark)
	return m.stepCounted(t, 0, path)
}

// stepCounted takes the alternative number n, or the one with a path, and numbers the next
// one by counting.
func (m *Machine) stepCounted(t int, n uint64, path []choice) system.Outcome {
	mark := m.Mark()
	c := &m.counted
	at := []choice{} // no choice: the first alternative
	if c.t == t && c.log == int(mark) && path == nil && c.n < n {
		at = following(c.path)
		c.n++
	} else {
		c.t, c.log, c.n = t, int(mark), 0
	}
	for {
		out := m.follow(t, 0, at)
		c.path = append(c.path[:0], m.path...)
		next := following(c.path)
		if next == nil || path == nil && c.n == n || path != nil && slices.Equal(c.path, path) {
			out.Next = 0
			if next != nil {
				out.Next = deep | (c.n + 1)
			}
			return out
		}
		m.Rewind(mark)
		at = next
		c.n++
	}
}

// following returns the choices of the next alternative, nil if there is none.
func following(path []choice) []choice {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].taken+1 < path[i].of {
			out := append([]choice(nil), path[:i+1]...)
			out[i].taken++
			return out
		}
	}
	return nil
}

// follow is step by the number of an alternative, or by the first of its choices; those
// behind are the first options.
func (m *Machine) follow(t int, alt uint64, path []choice) system.Outcome {
	m.path, m.tooDeep = m.path[:0], false
	m.acc, m.came = m.acc[:0], m.came[:0]
	if m.learn {
		m.forgetNotes()
	}
	m.viol, m.fatal, m.failed, m.chained = nil, false, 0, false
	m.told, m.said = m.told[:0], m.said[:0]
	m.story.deeds, m.story.t = m.story.deeds[:0], t
	m.touch(m.sys.locControl(t), false)
	if t >= m.n {
		// It has died, or does not exist yet, and may be created (again).
		return system.Outcome{Kind: system.Blocked, AtEnd: true}
	}
	m.enter(t)
	if (alt != 0 || path != nil) && m.kept.t == t && m.kept.log == len(m.log) && !m.watch {
		m.opts = append(m.opts[:0], m.kept.opts...)
	} else {
		m.findOptions()
		m.kept.t = -1
		if len(m.opts) > 1 && !m.watch && m.viol == nil {
			m.kept.t, m.kept.log = t, len(m.log)
			m.kept.opts = append(m.kept.opts[:0], m.opts...)
		}
	}
	if len(m.opts) == 0 {
		if m.viol != nil {
			// A guard that does not hold could not be evaluated: a process
			// that waits must not hide that.
			return system.Outcome{Kind: system.Moved, Violation: m.viol}
		}
		s := &m.proc.states[m.pc(t)]
		if m.sys.trace != nil && (s.final || s.end) {
			m.touch(m.sys.locTrace(), false)
		}
		return system.Outcome{Kind: system.Blocked, AtEnd: (s.final || s.end) &&
			(!m.sys.strict || m.notEmpty() == nil) && m.traced()}
	}
	n := m.n
	weight, next := uint64(1), uint64(0)
	chosen := uint64(0)
	for steps := 0; ; steps++ {
		// Choose: the alternative's number has a digit for each choice.
		k := 0
		if c := uint64(len(m.opts)); c > 1 {
			if m.track {
				for _, o := range m.opts {
					m.chained = m.chained || o.e.atomic || o.re != nil && o.re.atomic
				}
			}
			d := alt % c
			if path == nil {
				alt /= c
			} else if d = 0; len(m.path) < len(path) {
				d = path[len(m.path)].taken
			} else if m.prefers != nil {
				d = uint64(m.prefers())
			}
			k = int(d)
			m.path = append(m.path, choice{d, c})
			above := uint64(0) // the digit's place above, 0 if there is none
			if hi, lo := bits.Mul64(weight, c); hi == 0 && lo <= 1<<62 {
				above = lo
			} else {
				weight = 0
			}
			if d+1 < c {
				m.tooDeep = weight == 0
				next = chosen + (d+1)*weight
			}
			if d > 0 {
				// What failed before this choice was reported with the previous alternative.
				m.viol, m.failed = nil, 0
			}
			chosen += d * weight
			weight = above
		}
		o := m.opts[k]
		if k > 0 && m.proc.Decl.Deterministic && o.e != m.opts[k-1].e && o.e.looked() {
			m.fail(system.Runtime, o.e.src.Pos, false,
				"non-determinism in D_proctype %s: this is enabled, and so is an earlier choice",
				m.proc.Name)
		}
		last := m.t // the receiver of a rendezvous, as in SPIN
		if o.re != nil {
			last = int(o.other)
		}
		m.execute(o)
		m.edges++
		if m.goesOn != nil && !m.goesOn() {
			break
		}
		if m.sys.prog.UsesLast {
			m.setBits(0, lastShift, 8, uint64(last))
		}
		goOn := o.e.atomic
		if o.re != nil {
			goOn = o.re.atomic
			if goOn {
				m.enter(int(o.other))
			}
		}
		if !goOn || m.fatal {
			break
		}
		if steps > Budget {
			m.fail(system.Runtime, m.here(), true, "this atomic sequence does not end")
			break
		}
		m.gather()
		if len(m.opts) == 0 {
			break // atomicity is lost
		}
	}
	m.forget()
	return system.Outcome{Kind: system.Moved, Next: next, Created: m.n > n, Violation: m.viol}
}

// looked reports whether SPIN's verifier looks for a choice where it executes an edge: it does
// not for skip, else, goto and a d_step.
func (e *edge) looked() bool {
	if e.kind == program.Cond {
		_, constant := e.src.X.(*program.Const)
		return !constant
	}
	return e.kind != program.Skip && e.kind != program.Else && e.kind != program.DStep
}

// findOptions finds what the process can do in a stored state, where timeout may be true.
func (m *Machine) findOptions() {
	m.timeout = false
	m.gather()
	if len(m.opts) > 0 || !m.sys.waits {
		return
	}
	if m.failed == 0 && !m.proc.states[m.pc(m.t)].waits {
		return // what is asked again gives the same answer
	}
	m.notes.more = true // it looks at all processes
	if m.otherMoves() {
		m.opts = m.opts[:0]
		return
	}
	m.timeout = true
	m.gather()
	m.timeout = false
}

// otherMoves reports whether any process can move, except the entered one, which cannot. In the
// loaded state it is computed once for all processes, unless accesses are recorded.
func (m *Machine) otherMoves() bool {
	known := len(m.log) == 0 && !m.track
	if known && m.moving != unasked {
		return m.moving == yes
	}
	t, viol, fatal, failed := m.t, m.viol, m.fatal, m.failed
	is := no
	if m.someEnabled(func(u int) bool { return u != t }) {
		is = yes
	}
	m.enter(t)
	// A failure in a guard of another process is reported with that one's step.
	m.viol, m.fatal, m.failed = viol, fatal, failed
	if known {
		m.moving = is
	}
	return is == yes
}

// someEnabled reports whether one of some processes can take a step. It shows what decides that:
// where the processes up to the first one that can are, and what their guards read.
func (m *Machine) someEnabled(of func(u int) bool) bool {
	before := len(m.acc)
	if sabotage.Is("timeout/blind") {
		defer func() { m.acc = m.acc[:before] }()
	}
	for u := range m.n {
		if !of(u) {
			continue
		}
		m.touch(m.sys.locControl(u), false)
		if m.enabled(u) {
			return true
		}
	}
	m.touch(m.sys.locProcesses(), false)
	return false
}

// enabled reports whether a process can take a step, with timeout false. That process stays
// entered.
func (m *Machine) enabled(u int) bool {
	m.enter(u)
	m.gather()
	return len(m.opts) > 0
}

// permitted reports whether the process may move at all: its provided clause, and that no
// process of a higher priority can.
func (m *Machine) permitted() bool {
	if m.proc.provided != nil && m.proc.provided(m) == 0 {
		return false
	}
	return true
}

// outranked reports whether a process of a higher priority than t's can move.
func (m *Machine) outranked(t int) bool {
	before := len(m.acc)
	for u := range m.n {
		if !m.above(u, t) {
			continue
		}
		m.touch(m.sys.locControl(u), false)
		m.enter(u)
		m.collect()
		if len(m.opts) == 0 {
			continue
		}
		if sabotage.Is("priority/blind") {
			m.acc = m.acc[:before]
		}
		m.enter(t)
		return true
	}
	// One that is started may be above it, and the last one that has died may have been.
	m.touch(m.sys.locAbove(), false)
	m.enter(t)
	return false
}

// touchAbove records the birth or the death of the entered process, if it can have been above
// another one.
func (m *Machine) touchAbove() {
	if m.sys.prog.UsesPriority && m.words[m.fb]>>prioShift&0xff > 1 {
		m.touch(m.sys.locAbove(), true)
	}
}

// above reports whether a process has a higher priority than another one.
func (m *Machine) above(u, t int) bool {
	return m.words[m.base[u]]>>prioShift&0xff > m.words[m.base[t]]>>prioShift&0xff
}

// gather finds the enabled options of the process in its control state.
func (m *Machine) gather() {
	if m.sys.prog.UsesPriority && m.outranked(m.t) {
		m.opts = m.opts[:0]
		return
	}
	m.collect()
}

// collect is gather without priorities.
func (m *Machine) collect() {
	m.opts = m.opts[:0]
	if !m.permitted() {
		return
	}
	s := &m.proc.states[m.words[m.fb]>>pcShift&0xffff]
	if s.final {
		m.touch(m.sys.locProcesses(), false)
		if m.t == m.n-1 {
			m.opts = append(m.opts, option{e: death, other: -1})
		}
		return
	}
	m.collectEdges(s)
}

// death is the edge that ends a process.
var death = &edge{kind: program.Skip, to: -1}

// collectEdges finds the enabled edges of a state. If an escape is enabled, the process can only
// take it.
func (m *Machine) collectEdges(s *state) {
	var taken *program.State
	for _, x := range s.escapes {
		if taken != nil && x.from != taken {
			return
		}
		n := len(m.opts)
		m.try(x.e)
		switch {
		case len(m.opts) > n:
			taken = x.from
		case x.e.kind == program.Send && m.isRendezvous(x.e):
			// In SPIN's verifier, a rendezvous that no process answers is undone, with
			// everything before it.
			taken = nil
		}
	}
	if taken != nil {
		return
	}
	for _, e := range s.edges {
		if e.plain {
			if e.can == nil || e.can(m) {
				m.opts = append(m.opts, option{e: e, other: -1})
			}
			continue
		}
		m.try(e)
	}
}

// try appends the options of one edge.
func (m *Machine) try(e *edge) {
	m.at = e
	switch e.kind {
	case program.Else:
		if len(m.opts) == 0 {
			m.opts = append(m.opts, option{e: e, other: -1})
		}
		return
	case program.Send:
		c := m.channel(e.send.ch(m))
		if c == nil {
			break // fatal when it is executed
		}
		if c.c.Cap == 0 {
			m.rendezvous(e, c)
			return
		}
		if !m.sys.lossy && m.length(c) >= c.c.Cap {
			return
		}
	case program.Recv:
		c := m.channel(e.recv.ch(m))
		if c == nil {
			break // fatal when it is executed
		}
		if c.c.Cap == 0 || m.match(c, e.recv) < 0 {
			return
		}
	case program.DStep:
		if !m.dstepEnabled(e) {
			return
		}
	default:
		if e.can != nil && !e.can(m) {
			return
		}
	}
	m.opts = append(m.opts, option{e: e, other: -1})
}

// dstepEnabled reports whether a d_step can begin: one of its guards is executable, if it has
// any.
func (m *Machine) dstepEnabled(e *edge) bool {
	if e.src.Always {
		return true
	}
	n := len(m.opts)
	if e.src.Otherwise {
		return n == 0
	}
	for _, g := range e.guards {
		if g.kind == program.Send && m.isRendezvous(g) {
			return true // fatal when it is executed
		}
		m.try(g)
		if len(m.opts) > n {
			m.opts = m.opts[:n]
			return true
		}
	}
	return false
}

// firstOf returns the first executable edge from a state inside a d_step on; nil if
// it blocks.
func (m *Machine) firstOf(s *state) *edge {
	n := len(m.opts)
	for ; s != nil; s = s.fall {
		for _, e := range s.edges {
			if e.kind == program.Else {
				return e // nothing before it was executable
			}
			if e.kind == program.Send && m.isRendezvous(e) {
				return e // fatal when it is executed
			}
			m.try(e)
			if len(m.opts) > n {
				m.opts = m.opts[:n]
				return e
			}
		}
	}
	return nil
}

func (m *Machine) isRendezvous(e *edge) bool {
	c := m.channel(e.send.ch(m))
	return c != nil && c.c.Cap == 0
}

// notEmpty returns a channel that holds messages; nil if all are empty.
func (m *Machine) notEmpty() *inst {
	for i := range m.chans {
		if q := &m.chans[i]; q.c.Cap > 0 && m.length(q) > 0 {
			return q
		}
	}
	return nil
}

// channel returns the channel with a number; nil if there is none.
func (m *Machine) channel(id int32) *inst {
	if m.track && (int(id) > len(m.chans) || id > 0 && m.chans[id-1].base > m.fb) {
		// For a process: does it still exist, and which channels does it have? Those before this
		// one exist as long as it does.
		m.touch(m.sys.locProcesses(), false)
	}
	if id <= 0 || int(id) > len(m.chans) {
		return nil
	}
	return &m.chans[id-1]
}

func (m *Machine) length(c *inst) int {
	l := &c.c.scalars[0]
	if m.watch {
		m.touchChannel(c, false)
		m.saw(c.base+l.word, l.mask)
	}
	return int(l.get(m.words[c.base+l.word]))
}

func (m *Machine) field(c *inst, slot, f int) int32 {
	l := &c.c.scalars[1+slot*len(c.c.Fields)+f]
	if m.learn {
		m.saw(c.base+l.word, l.mask)
	}
	return l.get(m.words[c.base+l.word])
}

func (m *Machine) setField(c *inst, slot, f int, v int32) {
	if m.track {
		m.touchChannel(c, true)
	}
	m.put(c.base, &c.c.scalars[1+slot*len(c.c.Fields)+f], v)
}

// moveMessage moves a message from one slot to another one, whatever it is.
func (m *Machine) moveMessage(c *inst, to, from int) {
	n := len(c.c.Fields)
	for f := range n {
		a, b := &c.c.scalars[1+to*n+f], &c.c.scalars[1+from*n+f]
		if m.learn {
			m.moved(c.base, a, b)
		}
		if m.track {
			m.touchChannel(c, true)
		}
		m.overwrite(c.base, a, b.get(m.words[c.base+b.word]))
	}
}

// match returns the slot that a receive takes, -1 if none.
func (m *Machine) match(c *inst, r *receiver) int {
	n := m.length(c)
	if !r.random {
		n = min(n, 1)
	}
	for slot := range n {
		ok := true
		for f, a := range r.args {
			v := int32(0) // a field that the messages have not
			if a.match == nil {
				continue
			}
			if f < len(c.c.Fields) {
				v = m.field(c, slot, f)
			}
			if a.match(m) != v {
				ok = false
				break
			}
		}
		if ok {
			return slot
		}
	}
	return -1
}

// rendezvous appends an option for each receive of another process that
// matches a send.
func (m *Machine) rendezvous(e *edge, c *inst) {
	id := e.send.ch(m)
	m.evalMessage(e, c)
	m.touch(m.sys.locProcesses(), false)
	t, fb, proc := m.t, m.fb, m.proc
	for u := range m.n {
		if u == t {
			continue
		}
		m.enter(u)
		if !m.proc.ready {
			continue
		}
		if m.watch {
			m.touch(m.sys.locReady(u), false)
			m.saw(m.fb, pcMask)
		}
		s := &m.proc.states[m.pc(u)]
		if !s.ready || !m.permitted() {
			continue
		}
		m.receivers(e, s, id, c, u)
	}
	m.t, m.fb, m.proc = t, fb, proc
}

func (m *Machine) receivers(e *edge, s *state, id int32, c *inst, u int) {
	n := len(m.opts)
	var taken *program.State
	for _, x := range s.escapes {
		if taken != nil && x.from != taken {
			return
		}
		m.receiverEdge(e, x.e, id, c, u)
		if len(m.opts) > n {
			taken = x.from
		}
	}
	if taken != nil {
		return
	}
	for _, f := range s.edges {
		m.receiverEdge(e, f, id, c, u)
	}
}

func (m *Machine) receiverEdge(e, f *edge, id int32, c *inst, u int) {
	r := f
	if f.kind == program.DStep {
		r = nil
		for _, g := range f.guards {
			if g.kind == program.Recv && m.takes(g, id, c) {
				r = g
				break
			}
		}
		if r == nil {
			return
		}
	}
	if r.kind != program.Recv || !m.takes(r, id, c) {
		return
	}
	m.opts = append(m.opts, option{e: e, other: int32(u), re: f})
}

// takes reports whether a receive matches the message that is being sent.
func (m *Machine) takes(f *edge, id int32, c *inst) bool {
	if f.recv.ch(m) != id {
		return false
	}
	for i, a := range f.recv.args {
		v := int32(0) // a field that the messages have not
		if i < len(m.msg) {
			v = m.msg[i]
		}
		if a.match != nil && a.match(m) != v {
			return false
		}
	}
	return true
}

// evalMessage evaluates what a send sends, truncated to the fields.
func (m *Machine) evalMessage(e *edge, c *inst) {
	m.msg = m.msg[:0]
	for i, t := range c.c.Fields {
		v := int32(0)
		if i < len(e.send.args) {
			v = t.Truncate(e.send.args[i](m))
		}
		m.msg = append(m.msg, v)
	}
}

// execute takes an option of the entered process.
func (m *Machine) execute(o option) {
	e := o.e
	m.at = e
	if m.track {
		m.touch(m.sys.locControl(m.t), true) // also if a fault keeps it where it is
		m.told = append(m.told, told{e: e, t: m.t, proc: m.proc})
		if o.re != nil {
			m.told = append(m.told, told{e: o.re, t: int(o.other),
				proc: m.sys.procs[m.words[m.base[o.other]]&0xff]})
		}
	}
	if e == death {
		m.diedAt = position(m.proc.Decl.End)
		m.log = append(m.log, undo{word: -1})
		m.notes.more = true
		m.touch(m.sys.locProcesses(), true)
		m.touchAbove()
		for w := m.fb; w < m.end; w++ {
			m.set(w, 0)
		}
		m.setBits(0, nprocShift, 8, uint64(m.n-1))
		m.rebuild()
		if m.sys.strict && m.n == 0 {
			if q := m.notEmpty(); q != nil {
				m.fail(system.Runtime, m.proc.Decl.End, false,
					"invalid end state: all processes have ended, and channel %s is not empty",
					q.c.Name)
			}
		}
		return
	}
	if o.re != nil {
		m.handshake(o)
		return
	}
	m.run(e)
	if m.fatal {
		return
	}
	m.setPC(e.to)
	m.bury(e)
}

// run executes an edge without the move.
func (m *Machine) run(e *edge) {
	m.at = e
	switch e.kind {
	case program.Send:
		m.send(e)
	case program.Recv:
		m.receive(e)
	case program.DStep:
		m.dstep(e, nil)
	default:
		if e.do != nil {
			e.do(m)
		}
	}
}

func (m *Machine) send(e *edge) {
	c := m.mustChannel(e.send.ch(m), e.src.Pos, true)
	if c == nil {
		return
	}
	if e.checks {
		m.check(e.send.ch(m), true, false, e.src.Pos)
	}
	if e.send.sorted {
		m.checkOrder(e.send.ch(m), true, e.src.Pos)
	}
	m.evalMessage(e, c)
	m.say(c, 1)
	n := m.length(c)
	if len(e.send.args) != len(c.c.Fields) {
		m.fail(system.Runtime, e.src.Pos, false, "this send has %d fields, the messages of %s "+
			"have %d", len(e.send.args), c.c.Name, len(c.c.Fields))
	}
	if n >= c.c.Cap {
		m.tellLost(c)
		return
	}
	slot := n
	if e.send.sorted {
		for slot = 0; slot < n && m.less(c, slot); slot++ {
		}
		for k := n; k > slot; k-- {
			m.moveMessage(c, k, k-1)
		}
	}
	for f, v := range m.msg {
		m.setField(c, slot, f, v)
	}
	m.put(c.base, &c.c.scalars[0], int32(n+1))
	m.tellSent(c, slot)
	if m.sys.trace != nil {
		m.event(program.Send, e.send.ch(m), func(f int) int32 { return m.field(c, n, f) },
			e.src.Pos)
	}
}

// less reports whether the message in a slot is not greater than the message being sent.
func (m *Machine) less(c *inst, slot int) bool {
	for f, v := range m.msg {
		if w := m.field(c, slot, f); w != v {
			return w < v
		}
	}
	return true
}

func (m *Machine) receive(e *edge) {
	r := e.recv
	c := m.mustChannel(r.ch(m), e.src.Pos, true)
	if c == nil {
		return
	}
	if e.checks {
		m.check(r.ch(m), false, true, e.src.Pos)
	}
	if r.random {
		m.checkOrder(r.ch(m), false, e.src.Pos)
	}
	slot := m.match(c, r)
	m.msg = m.msg[:0]
	for f := range c.c.Fields {
		l := &c.c.scalars[1+slot*len(c.c.Fields)+f]
		if m.learn && f < len(r.args) && r.args[f].store != nil {
			m.saw(c.base+l.word, l.mask)
		}
		m.msg = append(m.msg, l.get(m.words[c.base+l.word]))
	}
	m.say(c, 1)
	m.tellReceived(c, slot, r.peek)
	if len(r.args) != len(c.c.Fields) && !r.peek {
		m.fail(system.Runtime, e.src.Pos, false, "this receive has %d fields, the messages of %s "+
			"have %d", len(r.args), c.c.Name, len(c.c.Fields))
	}
	if !r.peek {
		if m.sys.trace != nil {
			m.event(program.Recv, r.ch(m), func(f int) int32 { return m.field(c, 0, f) }, e.src.Pos)
		}
		n := m.length(c)
		for k := slot; k < n-1; k++ {
			m.moveMessage(c, k, k+1)
		}
		for f := range c.c.Fields {
			m.setField(c, n-1, f, 0)
		}
		m.put(c.base, &c.c.scalars[0], int32(n-1))
	}
	m.storeMessage(r)
}

// storeMessage stores the fields of m.msg where a receive needs them.
func (m *Machine) storeMessage(r *receiver) {
	for i, a := range r.args {
		if a.store != nil && i < len(m.msg) {
			a.store(m, m.msg[i])
		}
	}
}

// handshake executes both sides of a rendezvous.
func (m *Machine) handshake(o option) {
	c := m.channel(o.e.send.ch(m))
	m.evalMessage(o.e, c)
	m.say(c, 2)
	m.tellHandshake(c, int(o.other))
	if len(o.e.send.args) != len(c.c.Fields) {
		m.fail(system.Runtime, o.e.src.Pos, false, "this send has %d fields, the messages of %s "+
			"have %d", len(o.e.send.args), c.c.Name, len(c.c.Fields))
	}
	if r := o.re.recv; r != nil && len(r.args) != len(c.c.Fields) {
		m.fail(system.Runtime, o.re.src.Pos, false, "this receive has %d fields, the messages of "+
			"%s have %d", len(r.args), c.c.Name, len(c.c.Fields))
	}
	id := o.e.send.ch(m)
	if m.sys.trace != nil {
		sent := append([]int32(nil), m.msg...)
		field := func(f int) int32 { return sent[f] }
		m.event(program.Send, id, field, o.e.src.Pos)
		m.event(program.Recv, id, field, o.re.src.Pos)
	}
	m.setPC(o.e.to)
	t := m.t
	m.enter(int(o.other))
	m.at = o.re
	if o.re.kind == program.DStep {
		var first *edge
		for _, g := range o.re.guards {
			if g.kind == program.Recv && m.takes(g, id, c) {
				first = g
				break
			}
		}
		m.storeMessage(first.recv)
		m.dstep(o.re, first)
	} else {
		m.storeMessage(o.re.recv)
	}
	if !m.fatal {
		m.setPC(o.re.to)
		m.bury(o.re)
	}
	m.enter(t)
	m.bury(o.e)
}

// dstep executes a d_step: repeatedly the first executable edge. done is its first edge if that
// was already executed.
func (m *Machine) dstep(e, done *edge) {
	s := e.inner
	for steps := 0; ; steps++ {
		if steps > Budget {
			m.fail(system.Runtime, e.src.Pos, true, "this d_step does not end")
			return
		}
		f := done
		if f == nil {
			f = m.firstOf(s)
			if f == nil {
				m.fail(system.Runtime, e.src.Pos, true,
					"block in d_step: nothing in it is executable here")
				return
			}
			if f.kind == program.Send && m.isRendezvous(f) {
				m.fail(system.Runtime, f.src.Pos, true, "a rendezvous send in a d_step")
				return
			}
			m.run(f)
			if m.fatal {
				return
			}
		}
		done = nil
		if f.leaves {
			return
		}
		s = &m.proc.states[f.to]
	}
}

// create starts a process and returns its number.
func (m *Machine) create(p *proctype, args []int32, priority int32, pos syntax.Pos) int32 {
	if m.n >= program.MaxProcesses {
		m.fail(system.Runtime, pos, true, "too many processes: there can be at most %d",
			program.MaxProcesses)
		return 0
	}
	t, fb, proc, at := m.t, m.fb, m.proc, m.at
	m.notes.more = true
	base := m.end
	m.log = append(m.log, undo{word: -1})
	for int(base)+p.lay.words > len(m.words) {
		m.words = append(m.words, 0)
	}
	for w := base; w < base+int32(p.lay.words); w++ {
		m.set(w, 0)
	}
	m.come(p.first + int32(p.Start))
	m.set(base, uint64(p.Index)|uint64(p.Start)<<pcShift|uint64(priority&0xff)<<prioShift)
	m.setBits(0, nprocShift, 8, uint64(m.n+1))
	first := int32(len(m.chans))
	m.rebuild()
	m.enter(m.n - 1)
	m.touch(m.sys.locProcesses(), true)
	m.touchAbove()
	m.touch(m.sys.locControl(m.t), true)
	m.touch(m.sys.locReady(m.t), true)
	for _, f := range p.Fields {
		m.put(base, &p.lay.scalars[f.Scalar], first+int32(f.Chan)+1)
	}
	for _, s := range p.Syms {
		for k, c := range s.Chans {
			m.put(base, &p.lay.scalars[s.Base+k], first+int32(c)+1)
		}
	}
	for i, v := range args {
		m.put(base, &p.lay.scalars[i], v)
	}
	for _, f := range p.inits {
		f(m)
	}
	m.claim()
	for _, k := range m.sys.unused[p.Proc] {
		m.put(base, &p.lay.scalars[k], 0)
	}
	pid := int32(m.t)
	m.tellStart(p, args)
	m.t, m.fb, m.proc, m.at = t, fb, proc, at
	return pid
}
