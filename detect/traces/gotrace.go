package traces

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"cpor/detect/computation"

	"golang.org/x/exp/trace"
)

// assignment finds what a log message assigns.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([\pL_][\pL\pN_.]*)=([^\s,;]+)`)
})

// goroutines reads an execution trace.
type goroutines struct {
	g      *graph
	system map[trace.GoID]bool // of the run-time system
	host   map[trace.GoID]int
	wake   map[trace.GoID]int // the event that started or unblocked the goroutine last, plus 1
	last   map[trace.GoID]int // the last event of the goroutine, plus 1
	wait   map[trace.GoID]bool
	seq    int64
}

// ReadGoTrace reads an execution trace of Go (runtime/trace, "go test -trace").
func ReadGoTrace(data []byte, b *computation.Builder) (err error) {
	// The reader is for traces that the run-time system wrote: a damaged one may
	// make it panic.
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("the trace is damaged: %v", x)
		}
	}()
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		return err
	}
	t := &goroutines{g: newGraph(), system: map[trace.GoID]bool{}, host: map[trace.GoID]int{},
		wake: map[trace.GoID]int{}, last: map[trace.GoID]int{}, wait: map[trace.GoID]bool{}}
	for n := 0; ; n++ {
		ev, err := r.ReadEvent()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", n+1, err)
		}
		t.event(&ev)
	}
	if len(t.g.events) == 0 {
		return errors.New("the trace has no events of goroutines")
	}
	return t.g.build(b)
}

// add adds an event of the goroutine, after what woke it. The events of a trace
// come in an order that respects what they depend on.
func (t *goroutines) add(id trace.GoID, text string, vars ...variable) int {
	host, ok := t.host[id]
	if !ok {
		host = t.g.host(fmt.Sprint("g", int64(id)))
		t.host[id] = host
	}
	t.seq++
	x := t.g.add(host, t.seq, text, vars...)
	if w := t.wake[id]; w > 0 {
		t.g.events[x].before = append(t.g.events[x].before, w-1)
		delete(t.wake, id)
	}
	t.last[id] = x + 1
	return x
}

func (t *goroutines) event(ev *trace.Event) {
	by := ev.Goroutine()
	known := by != trace.NoGoroutine && !t.system[by]
	switch ev.Kind() {
	case trace.EventStateTransition:
		if st := ev.StateTransition(); st.Resource.Kind == trace.ResourceGoroutine {
			t.transition(st, by, known)
		}
	case trace.EventLog:
		if !known {
			return
		}
		l := ev.Log()
		vars := []variable{{"blocked", computation.StringValue("")}}
		for _, m := range assignment().FindAllStringSubmatch(l.Message, -1) {
			vars = append(vars, variable{m[1], computation.ParseToken(m[2])})
		}
		text := l.Message
		if l.Category != "" {
			vars = append(vars, variable{name(l.Category), computation.ParseToken(l.Message)})
			text = l.Category + ": " + l.Message
		}
		t.add(by, text, vars...)
	case trace.EventRegionBegin, trace.EventRegionEnd:
		if !known {
			return
		}
		what := ev.Region().Type
		begin := ev.Kind() == trace.EventRegionBegin
		text := "leaves " + what
		if begin {
			text = "enters " + what
		}
		t.add(by, text, variable{"region." + name(what), computation.BoolValue(begin)})
	}
}

// transition reads a change of a goroutine's state, which goroutine by brought
// about if known is set.
func (t *goroutines) transition(st trace.StateTransition, by trace.GoID, known bool) {
	id := st.Resource.Goroutine()
	from, to := st.Goroutine()
	switch {
	case from == trace.GoNotExist && to == trace.GoRunnable:
		for frame := range st.Stack.Frames() {
			// The function that it begins with comes last.
			t.system[id] = strings.HasPrefix(frame.Func, "runtime.") &&
				frame.Func != "runtime.main" ||
				strings.HasPrefix(frame.Func, "runtime/trace.")
		}
		if t.system[id] {
			return
		}
		if known {
			t.wake[id] = t.add(by, fmt.Sprint("starts g", int64(id))) + 1
		}
		t.add(id, "begins")
	case t.system[id]:
	case to == trace.GoWaiting && from != trace.GoUndetermined:
		t.wait[id] = true
		t.add(id, "blocks: "+st.Reason, variable{"blocked", computation.StringValue(st.Reason)})
	case from == trace.GoWaiting && to == trace.GoRunnable:
		// It continues when it was unblocked, whenever it is then scheduled.
		if known && by != id {
			x := t.add(by, fmt.Sprint("unblocks g", int64(id)))
			t.wake[id] = x + 1
			if blocked := t.last[id]; blocked > 0 {
				// It found the other one waiting, so it came after that.
				t.g.events[x].before = append(t.g.events[x].before, blocked-1)
			}
		}
		if t.wait[id] || t.wake[id] > 0 {
			t.add(id, "goes on", variable{"blocked", computation.StringValue("")})
		}
		delete(t.wait, id)
	case to == trace.GoNotExist && from != trace.GoUndetermined:
		t.add(id, "ends")
	}
}
