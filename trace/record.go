package trace

import (
	"errors"
	"fmt"
	"slices"

	"cpor/system"
)

// Record is a trace with everything that people want to see of it. It is
// plain data: names and printed values, independent of the system.
type Record struct {
	// Params are the constants that were set for the program (-D), and Flags the flags of its
	// front end, as they were given. Whoever reads a file needs both to replay the trace.
	Params, Flags map[string]string
	Initial       int               // index of the initial state
	Choices       []string          // the choices of the initialization that lead to it
	Events        []Event           // one for each step
	Violation     *system.Violation // what the execution shows; may be nil
	Final         []Thread          // the threads after the last step, without observers
	// Shared are the variables and objects that the threads share, after the last step, and Before
	// what they were before it. Both are empty if the system cannot show them ([system.Showing]).
	Shared, Before []system.Binding
	// States are the initial state and that after each step, if they were asked
	// for ([Trace.RecordStates]).
	States []State
	// History is what the violation says about the calls of the execution; nil if it is not about
	// calls.
	History *History
}

// State is a whole state as people see it.
type State struct {
	// Shared are the variables and objects that the threads share. If the system cannot show them
	// all ([system.Showing]), they are those that the execution touches.
	Shared  []system.Binding
	Threads []Thread // without observers
}

// Event is one transition as people see it.
type Event struct {
	Step     Step
	Thread   string        // name of the thread: Robot[0]
	Observer bool          // the thread checks a property that the tool watches
	Pos      system.Pos    // place of the statement
	Text     string        // source text of the statement
	Calls    []system.Call // the calls of functions around it, the outermost first
	Within   bool          // it continues an earlier step's call of a library (system.Story)
	Deeds    []string      // what the step did besides accesses to variables, in words
	Messages []Message     // what it sent and received
	Accesses []Access      // in the order of the machine's report
	// Locals are the thread's locals after the step; if the step violated a
	// property, which ends the thread, those before it.
	Locals []system.Binding
	// Changed are those of them that the step has changed or made; in the first
	// step of a thread, all.
	Changed []system.Binding
}

// Message is a message at one of its ends.
type Message struct {
	Sent    bool   // the step sent it; else it received it
	Channel string // name of the channel
	Value   string
	Other   int // the index of the step at the other end, -1 if there is none
	// Direct: the step did both, and the other end is the thread With, whose name is
	// WithName.
	Direct   bool
	With     int
	WithName string
}

// Access is an access of a transition to a shared location as people see it.
type Access struct {
	Loc   string // name of the location: A[4][4]
	Write bool
	Value string // the value written, or the value read
	// Internal means that readers can skip it, because Deeds or Waits describe it.
	Internal bool
}

// Thread is a thread's condition at the end of an execution.
type Thread struct {
	Number int
	Name   string
	Kind   system.Kind // Moved if its next transition is enabled
	AtEnd  bool        // blocked where that is not a deadlock
	Pos    system.Pos  // of the next transition; zero if ended
	Text   string
	// Stopped: it has ended by violating a property.
	Stopped bool
	Waits   []Access // Kind Blocked: the locations that the guard read, with values
	// WaitsFor says in words what a blocked thread waits for; empty if it only waits for values to
	// change.
	WaitsFor []string
	Locals   []system.Binding
}

// NotEnabledError says that a trace does not replay: a step's thread could not move there. The code
// that made the trace is wrong.
type NotEnabledError struct {
	Index  int // of the step
	Step   Step
	Kind   system.Kind // Blocked or Ended
	Reason string      // in addition to Kind; may be empty
}

func (e *NotEnabledError) Error() string {
	s := fmt.Sprintf("step %d of the trace is not enabled: thread %d, alternative %d", e.Index+1,
		e.Step.Thread, e.Step.Alt)
	if e.Reason != "" {
		return s + ": " + e.Reason
	}
	return s + ": " + e.Kind.String()
}

// MismatchError says that a trace runs, but does not show the violation that
// it claims.
type MismatchError struct {
	Want, Got *system.Violation // Got is nil if the execution violates nothing at its end
}

func (e *MismatchError) Error() string {
	got := "no violation"
	if e.Got != nil {
		got = fmt.Sprintf("%s: %s", e.Got.Kind, e.Got.Message)
	}
	return fmt.Sprintf("the trace does not show what it claims (%s: %s) but %s", e.Want.Kind,
		e.Want.Message, got)
}

// Replay runs the trace through the plain semantics on its own machine. It returns nil if every
// step is enabled and the execution ends in the claimed violation (the same kind and place).
// Otherwise it returns a NotEnabledError, a MismatchError, or an error about a bad index.
func (t *Trace) Replay(sys system.System) error {
	p, err := newPlayer(sys, t.Initial)
	if err != nil {
		return err
	}
	return p.replay(t)
}

// player runs traces through the plain semantics.
type player struct {
	obs     system.Observers
	m       system.Machine
	initial system.State
	tells   system.Narrating // nil if the machine does not implement it
	expired func() bool      // tells whether to end at once; nil: never
}

// errExpired ends the replay of an execution when there is no time left.
var errExpired = errors.New("out of time")

func newPlayer(sys system.System, initial int) (*player, error) {
	states := sys.Initial()
	if initial < 0 || initial >= len(states) {
		return nil, fmt.Errorf("the trace starts at initial state %d of %d", initial, len(states))
	}
	return &player{obs: system.ObserversOf(sys), m: sys.NewMachine(), initial: states[initial]}, nil
}

// step executes one step of a trace on the live state.
func (p *player) step(i int, s Step) (system.Outcome, error) {
	if i&63 == 0 && p.expired != nil && p.expired() {
		return system.Outcome{}, errExpired
	}
	if s.Thread < 0 || s.Thread >= p.m.NumThreads() {
		return system.Outcome{}, &NotEnabledError{Index: i, Step: s,
			Reason: "there is no such thread yet"}
	}
	out := p.m.Step(s.Thread, s.Alt)
	if out.Kind != system.Moved {
		return out, &NotEnabledError{Index: i, Step: s, Kind: out.Kind}
	}
	return out, nil
}

// Foresee announces to a machine which steps it will take next.
func Foresee(m system.Machine, steps []Step) {
	if c := m.Capabilities().Costly; c != nil {
		c.Foresee(len(steps), func(i int) (int, uint64) { return steps[i].Thread, steps[i].Alt })
	}
}

// replay runs t and checks its claim; the live state is then the last one.
func (p *player) replay(t *Trace) error {
	p.m.Load(p.initial)
	Foresee(p.m, t.Steps)
	var last *system.Violation
	for i, s := range t.Steps {
		out, err := p.step(i, s)
		if err != nil {
			return err
		}
		last = out.Violation
	}
	return p.check(t.Violation, last)
}

// check reports whether an execution whose last step violated last shows want.
func (p *player) check(want, last *system.Violation) error {
	if want == nil {
		return nil
	}
	if want.Kind == system.Deadlock {
		if !p.deadlocked() {
			return &MismatchError{Want: want, Got: last}
		}
		return nil
	}
	if last.Find(want) == nil {
		return &MismatchError{Want: want, Got: last}
	}
	return nil
}

// deadlocked reports whether the live state is a deadlock: every thread but the observers is
// blocked or has ended, and one is blocked where it should not be forever. The live state stays
// as it is.
func (p *player) deadlocked() bool {
	enabled, blocked := p.obs.Deadlock(p.m)
	return enabled < 0 && len(blocked) > 0
}

// Record replays the trace and writes down what people want to see of it. It
// returns the errors of Replay.
func (t *Trace) Record(sys system.System) (*Record, error) { return t.record(sys, false, nil) }

// lastTold is how many steps at the end of a trace are always told.
const lastTold = 50

// RecordInTime is Record for traces that may take long to tell: as soon as hurry returns true,
// all but the last steps are only executed. Their events have a thread, and three dots as text.
func (t *Trace) RecordInTime(sys system.System, hurry func() bool) (*Record, error) {
	return t.record(sys, false, hurry)
}

// RecordStates does the same, and writes down every state as well.
func (t *Trace) RecordStates(sys system.System) (*Record, error) { return t.record(sys, true, nil) }

// recorder makes the record of a trace while it replays it.
type recorder struct {
	*player
	r        *Record
	mail     *mail
	last     *system.Violation        // what the last step violated
	violated map[int][]system.Binding // the locals of threads that violated something
	seen     map[int]bool             // the threads that made a step
}

func (t *Trace) record(sys system.System, states bool, hurry func() bool) (*Record, error) {
	p, err := newPlayer(sys, t.Initial)
	if err != nil {
		return nil, err
	}
	p.tells = p.m.Capabilities().Narrating
	p.tell(true)
	p.m.Load(p.initial)
	Foresee(p.m, t.Steps)
	r := &Record{Initial: t.Initial, Violation: t.Violation, Events: make([]Event, 0, len(t.Steps))}
	c := &recorder{player: p, r: r, mail: newMail(), violated: map[int][]system.Binding{},
		seen: map[int]bool{}}
	if b := sys.Capabilities().Beginning; b != nil {
		r.Choices = b.Choices(t.Initial)
	}
	if states {
		r.States = append(r.States, p.state(nil))
	}
	last := len(t.Steps) - 1 // of the program's own steps
	for last > 0 && p.obs.Has(t.Steps[last].Thread) {
		last--
	}
	for i, s := range t.Steps {
		if i == last {
			r.Before = p.shared()
		}
		if hurry != nil && i < len(t.Steps)-lastTold && hurry() {
			err = c.untold(i, s)
		} else if err = c.told(i, s); err == nil && states {
			r.States = append(r.States, p.state(c.violated))
		}
		if err != nil {
			return nil, err
		}
	}
	if err := p.check(t.Violation, c.last); err != nil {
		return nil, err
	}
	r.Final, r.Shared = p.threads(c.violated), p.shared()
	if states && p.m.Capabilities().Showing == nil {
		r.touched()
	}
	return r, nil
}

// tell switches on or off that the machine keeps what a step did.
func (p *player) tell(on bool) {
	p.m.Track(on)
	if p.tells != nil {
		p.tells.Narrate(on)
	}
}

// untold makes step i in a hurry: its event names the thread only.
func (c *recorder) untold(i int, s Step) error {
	c.tell(false)
	ev := Event{Step: s, Text: "..."}
	if s.Thread >= 0 && s.Thread < c.m.NumThreads() {
		ev.Thread = c.m.ThreadName(s.Thread)
	}
	if _, err := c.step(i, s); err != nil {
		return err
	}
	c.seen[s.Thread] = true
	c.r.Events = append(c.r.Events, ev)
	c.tell(true)
	return nil
}

// told makes step i and records all about it.
func (c *recorder) told(i int, s Step) error {
	ev := Event{Step: s}
	var before []system.Binding
	if s.Thread >= 0 && s.Thread < c.m.NumThreads() {
		ev.Thread = c.m.ThreadName(s.Thread)
		ev.Observer = c.obs.Has(s.Thread)
		ev.Pos, ev.Text, _ = c.m.Next(s.Thread)
		before = c.m.Locals(s.Thread)
	}
	out, err := c.step(i, s)
	if err != nil {
		return err
	}
	c.last = out.Violation
	ev.Accesses = c.accesses()
	if c.tells != nil {
		c.narrate(i, &ev)
	}
	if m := c.m.Capabilities().Telling; m != nil {
		ev.Pos, ev.Text = m.Told()
	}
	if c.last == nil {
		ev.Locals = c.m.Locals(s.Thread)
		if !c.seen[s.Thread] {
			before = nil
		}
		ev.Changed = changed(before, ev.Locals)
	} else {
		ev.Locals = before
		if !c.seen[s.Thread] {
			ev.Changed = before
		}
		c.violated[s.Thread] = ev.Locals
	}
	c.seen[s.Thread] = true
	c.r.Events = append(c.r.Events, ev)
	return nil
}

// narrate adds what the machine tells about step i: calls, deeds and messages.
func (c *recorder) narrate(i int, ev *Event) {
	story := c.tells.Story()
	ev.Calls, ev.Within = story.Calls, story.Within
	for _, d := range story.Deeds {
		if d.Text != "" {
			ev.Deeds = append(ev.Deeds, d.Text)
		}
		if d.Direct {
			ev.Messages = append(ev.Messages, Message{Sent: d.Kind == system.Send,
				Channel: d.Channel, Value: d.Value, Other: i, Direct: true, With: d.With,
				WithName: c.m.ThreadName(d.With)})
			continue
		}
		c.mail.carry(c.r.Events, ev, i, d)
	}
}

// state writes down the live state.
func (p *player) state(violated map[int][]system.Binding) State {
	return State{Shared: p.shared(), Threads: p.threads(violated)}
}

// shared returns what the threads share in the live state, if the machine can show it.
func (p *player) shared() []system.Binding {
	if m := p.m.Capabilities().Showing; m != nil {
		return m.Variables()
	}
	return nil
}

// threads records the threads of the live state. Those that have violated something keep the locals
// they had.
func (p *player) threads(violated map[int][]system.Binding) []Thread {
	var ts []Thread
	for i, n := 0, p.m.NumThreads(); i < n; i++ {
		if p.obs.Has(i) {
			continue
		}
		th := Thread{Number: i, Name: p.m.ThreadName(i), Locals: p.m.Locals(i)}
		if ls, ok := violated[i]; ok {
			th.Locals = ls
		}
		th.Pos, th.Text, _ = p.m.Next(i)
		mark := p.m.Mark()
		out := p.m.Step(i, 0)
		th.Kind, th.AtEnd = out.Kind, out.AtEnd
		_, th.Stopped = violated[i]
		th.Stopped = th.Stopped && out.Kind == system.Ended
		if out.Kind == system.Blocked {
			th.Waits = p.accesses()
			if p.tells != nil {
				th.WaitsFor = slices.Clone(p.tells.Story().Waits)
			}
		}
		p.m.Rewind(mark)
		ts = append(ts, th)
	}
	return ts
}

// touched fills the shared part of the states from the accesses of the execution: the values of the
// locations that it touches, and before the first access of each, the value that it read then.
func (r *Record) touched() {
	at := map[string]int{}
	var now []system.Binding
	for _, e := range r.Events {
		for _, a := range e.Accesses {
			if _, ok := at[a.Loc]; ok {
				continue
			}
			at[a.Loc] = len(now)
			b := system.Binding{Name: a.Loc}
			if !a.Write {
				b.Value = a.Value
			}
			now = append(now, b)
		}
	}
	r.States[0].Shared = slices.Clone(now)
	for i, e := range r.Events {
		for _, a := range e.Accesses {
			now[at[a.Loc]].Value = a.Value
		}
		r.States[i+1].Shared = slices.Clone(now)
	}
}

// changed returns the bindings in after that are not in before.
func changed(before, after []system.Binding) []system.Binding {
	var cs []system.Binding
	left := map[system.Binding]int{} // a name can denote several variables, in inner scopes
	for _, b := range before {
		left[b]++
	}
	for _, b := range after {
		if left[b]--; left[b] < 0 {
			cs = append(cs, b)
		}
	}
	return cs
}

// mail matches received messages with sent ones.
type mail struct {
	sent map[box][]letter // by channel, the oldest first
}

type box struct {
	channel string
	object  uint64
}

type letter struct{ step, thread, message int }

func newMail() *mail { return &mail{sent: map[box][]letter{}} }

// carry adds what a deed of step i, whose event is ev, sent or received.
func (m *mail) carry(earlier []Event, ev *Event, i int, d system.Deed) {
	from := box{d.Channel, d.Object}
	letters := m.sent[from]
	switch d.Kind {
	case system.Send:
		l := letter{i, ev.Step.Thread, len(ev.Messages)}
		ev.Messages = append(ev.Messages, Message{Sent: true, Channel: d.Channel, Value: d.Value,
			Other: -1})
		m.sent[from] = slices.Insert(letters, min(max(d.Place, 0), len(letters)), l)
	case system.Receive:
		msg := Message{Channel: d.Channel, Value: d.Value, Other: -1}
		if d.Place >= 0 && d.Place < len(letters) {
			l := letters[d.Place]
			m.sent[from] = slices.Delete(letters, d.Place, d.Place+1)
			msg.Other = l.step
			sender := ev
			if l.step < i {
				sender = &earlier[l.step]
			}
			sender.Messages[l.message].Other = i
		}
		ev.Messages = append(ev.Messages, msg)
	case system.Withdraw:
		m.sent[from] = slices.DeleteFunc(letters, func(l letter) bool {
			return l.thread == ev.Step.Thread
		})
	}
}

func (p *player) accesses() []Access {
	acc := p.m.Accesses()
	if len(acc) == 0 {
		return nil
	}
	as := make([]Access, 0, len(acc))
	for _, a := range acc {
		if name := p.m.LocName(a.Loc); name != "" {
			as = append(as, Access{Loc: name, Write: a.Write, Value: p.m.ValueString(a.Loc),
				Internal: p.tells != nil && p.tells.Internal(a.Loc)})
		}
	}
	return as
}

// IsReplayError reports whether err says that a trace does not replay, which is an internal
// error of the tool and never the user's mistake.
func IsReplayError(err error) bool {
	var ne *NotEnabledError
	var mm *MismatchError
	return errors.As(err, &ne) || errors.As(err, &mm)
}
