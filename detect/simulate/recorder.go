package simulate

import (
	"fmt"
	"strings"

	"cpor/detect/computation"
)

// Assign is an assignment of a value to a variable.
type Assign struct {
	Name  string
	Value computation.Value
}

// Recorder collects the events of simulated processes and keeps their vector
// clocks.
type Recorder struct {
	builder *computation.Builder
	clocks  []computation.Cut
	n       int
}

// NewRecorder returns a recorder for processes of those names.
func NewRecorder(names []string) *Recorder {
	r := &Recorder{builder: computation.NewBuilder(""), n: len(names)}
	for _, name := range names {
		r.builder.Declare(r.builder.Host(name))
		r.clocks = append(r.clocks, make(computation.Cut, len(names)))
	}
	return r
}

// Init gives a variable its value in the initial local state of process i.
func (r *Recorder) Init(i int, assigns ...Assign) {
	for _, a := range assigns {
		r.builder.Init(i, r.builder.Name(a.Name), a.Value, 0)
	}
}

// Event records an event of process i that assigns variables. The text is
// followed by the assignments.
func (r *Recorder) Event(i int, text string, assigns ...Assign) {
	clock := r.clocks[i]
	clock[i]++
	r.builder.Event(i, 0)
	r.builder.SetClock(clock)
	var sb strings.Builder
	sb.WriteString(text)
	for _, a := range assigns {
		fmt.Fprintf(&sb, " %s=%v", a.Name, a.Value)
		r.builder.Assign(r.builder.Name(a.Name), a.Value)
	}
	r.builder.Text([]byte(sb.String()))
}

// Message is what a message carries: the clock of the event that sent it.
type Message computation.Cut

// Send records the sending of a message, to any number of receivers.
func (r *Recorder) Send(i int, text string, assigns ...Assign) Message {
	r.Event(i, text, assigns...)
	return Message(r.clocks[i].Clone())
}

// Receive records the receipt of a message by process i.
func (r *Recorder) Receive(i int, m Message, text string, assigns ...Assign) {
	r.clocks[i].Join(computation.Cut(m))
	r.Event(i, text, assigns...)
}

// Events returns the number of events of process i so far.
func (r *Recorder) Events(i int) int { return int(r.clocks[i][i]) }

// Computation returns what was recorded; the recorder must not be used
// afterwards.
func (r *Recorder) Computation() *computation.Computation {
	c, _, err := r.builder.Build(false)
	if err != nil {
		panic("simulate: " + err.Error()) // the clocks are right by construction
	}
	return c
}

// Names returns prefix1, prefix2, ..., prefixN.
func Names(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint(prefix, i+1)
	}
	return names
}
