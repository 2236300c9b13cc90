package testcmd

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cpor/frontend/gosrc/gotest"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
	"cpor/trace/draw"
)

// Headline returns place, kind and message of a failure in one line.
func Headline(f *gotest.Failure) string {
	if p := trace.PosString(f.Pos); p != "" {
		return p + ": " + said(f)
	}
	return said(f)
}

// said returns kind and message of a failure. Messages of assertions may begin with empty lines.
func said(f *gotest.Failure) string {
	message := strings.TrimLeft(f.Message, " \t\r\n")
	if kind := string(f.Kind); !strings.HasPrefix(message, kind) && f.Kind != gotest.Race &&
		f.Kind != gotest.Fatal && f.Kind != gotest.Exit {
		return kind + ": " + message
	}
	return message
}

// notes returns what is known about a failure besides its steps, a line each.
func notes(f *gotest.Failure) []string {
	var out []string
	if f.Note != "" {
		out = append(out, f.Note)
	}
	for _, s := range f.Stacks {
		line := s.Goroutine + " " + s.What
		for i, fr := range s.Frames {
			if i == gotest.ShownFrames && s.Omitted > 0 {
				line += fmt.Sprintf(", from ... (%s)", human.Plural(uint64(s.Omitted), "call"))
			}
			line += []string{", in ", ", called from "}[min(i, 1)] + fmt.Sprintf("%s (%s:%d)",
				fr.Func, fr.Pos.File, fr.Pos.Line)
		}
		out = append(out, line)
	}
	if f.Output != "" {
		out = append(out, "It printed: "+strings.TrimSpace(f.Output))
	}
	return out
}

// Describe returns a failing execution for users: a table of its steps, its output, and the stacks
// of the goroutines that matter. When hurry returns true, only the last steps are described; nil:
// never.
func Describe(p system.System, f *gotest.Failure, o trace.TableOptions, hurry func() bool) string {
	o.OmitViolation, o.MaxSteps = true, 60
	var b bytes.Buffer
	if f.Note != "" {
		fmt.Fprintf(&b, "%s\n", f.Note)
	}
	if f.Trace != nil {
		t := *f.Trace
		t.Steps = slices.Concat(t.Steps, f.Cycle)
		rec, err := gotest.Record(p, &t, hurry)
		if err == nil {
			rec.Final, rec.Shared = nil, nil // the stacks below say more
			first := shorten(rec, len(f.Trace.Steps))
			if len(f.Cycle) == 0 {
				rec.Events = fold(rec.Events)
			}
			err = draw.Table(&b, rec, o)
			if n := len(rec.Events); len(f.Cycle) > 0 {
				steps := fmt.Sprintf("steps %d to %d lead", first+1, n)
				if first+1 == n {
					steps = fmt.Sprintf("step %d leads", n)
				}
				fmt.Fprintf(&b, "%s back to the state before: so it may run forever\n", steps)
			}
		}
		if err != nil {
			fmt.Fprintf(&b, "the execution cannot be shown: %v\n", err)
		}
	}
	if f.Output != "" {
		b.WriteString("\noutput:\n")
		for line := range strings.Lines(f.Output) {
			b.WriteString("\t" + strings.TrimRight(line, "\n") + "\n")
		}
	}
	if f.History != nil && f.History.Test != "" {
		b.WriteString("\na test of this scenario:\n")
		for line := range strings.Lines(f.History.Test) {
			b.WriteString("\t" + line)
		}
		b.WriteString("\n")
	}
	for _, s := range f.Stacks {
		fmt.Fprintf(&b, "\n%s\n", wrap(s.Goroutine+" "+s.What, draw.Page(o).Columns()))
		for i, fr := range s.Frames {
			if i == gotest.ShownFrames && s.Omitted > 0 {
				fmt.Fprintf(&b, "\t... %s\n", human.Plural(uint64(s.Omitted), "call"))
			}
			fmt.Fprintf(&b, "\t%s (%s:%d)\n", fr.Func, fr.Pos.File, fr.Pos.Line)
		}
	}
	return b.String()
}

// shorten makes a record readable: files are named by their last element where that
// is clear, the steps of the standard library that belong to one call are one, and
// so on. It returns how many steps there are left of the first n.
func shorten(rec *trace.Record, n int) (left int) {
	var events []trace.Event
	for i, e := range rec.Events {
		if i == n {
			left = len(events)
		}
		e.Accesses = slices.DeleteFunc(e.Accesses, func(a trace.Access) bool {
			return !a.Write && !telling(a.Value)
		})
		if k := len(events); k > left && events[k-1].Step.Thread == e.Step.Thread {
			last := &events[k-1]
			again := e.Within && last.Pos == e.Pos
			// Steps without a place belong to the library, after the call or the beginning
			// above.
			inside := e.Pos.Line == 0 && last.Pos.Line == 0 && i < len(rec.Events)-1
			if again || inside {
				if again {
					last.Text = join(last.Text, e.Text)
				}
				last.Deeds = append(last.Deeds, e.Deeds...)
				last.Accesses = append(last.Accesses, e.Accesses...)
				continue
			}
		}
		events = append(events, e)
	}
	rec.Events = events
	shortNames(rec)
	full := map[string]string{}
	clear := true
	for _, e := range rec.Events {
		base := filepath.Base(e.Pos.File)
		if other, ok := full[base]; ok && other != e.Pos.File {
			clear = false
		}
		full[base] = e.Pos.File
	}
	if !clear {
		return left
	}
	for i := range rec.Events {
		if e := &rec.Events[i]; e.Pos.File != "" {
			e.Pos.File = filepath.Base(e.Pos.File)
		}
	}
	return left
}

// join returns the text of two steps in one call of the library: "Cond.Wait c" of "Cond.Wait c:
// begins to wait" and "Cond.Wait c: is woken".
func join(a, b string) string {
	stem := func(s string) string {
		s, _, _ = strings.Cut(s, ": ")
		return s
	}
	switch {
	case a == b, strings.HasSuffix(a, ", "+b):
		return a
	case stem(a) == stem(b):
		return stem(a)
	}
	return a + ", " + b
}

// How long a part of an execution may be whose repetitions are folded, and how often it must
// repeat.
const (
	foldedPart  = 12
	foldedTimes = 4
)

// fold omits repetitions: of the repetitions of a part, which differ in numbers only, it keeps
// the first and the last, with a row between them that counts the others.
func fold(events []trace.Event) []trace.Event {
	keys := make([]string, len(events))
	for i, e := range events {
		keys[i] = fmt.Sprint(e.Step.Thread, e.Pos, numbers.ReplaceAllString(e.Text, "0"))
		for _, a := range e.Accesses {
			keys[i] += fmt.Sprint(" ", a.Loc, a.Write)
		}
	}
	var out []trace.Event
	for i := 0; i < len(events); {
		part, times := 0, 0
		for k := 1; k <= foldedPart && i+foldedTimes*k <= len(events); k++ {
			n := 1
			for i+(n+1)*k <= len(events) && slices.Equal(keys[i:i+k], keys[i+n*k:i+(n+1)*k]) {
				n++
			}
			if n >= foldedTimes && n*k > part*times {
				part, times = k, n
			}
		}
		if (times-2)*part < 2 { // a row would replace no more than a row
			out = append(out, events[i])
			i++
			continue
		}
		first, end := len(out)+1, i+times*part
		out = append(out, events[i:i+part]...)
		steps := fmt.Sprintf("step %d", first)
		if part > 1 {
			steps = fmt.Sprintf("steps %d to %d", first, first+part-1)
		}
		e := events[i+part]
		out = append(out, trace.Event{Step: e.Step, Thread: e.Thread,
			Text: fmt.Sprintf("... %s again, %d times", steps, times-2)})
		out = append(out, events[end-part:end]...)
		i = end
	}
	return out
}

// numbers are what repetitions may differ in.
var numbers = regexp.MustCompile(`[0-9]+`)

// longName is the length at which names of goroutines are cut off in tables.
const longName = 24

// shortNames omits the name of the test from the names of its goroutines, if they would be cut
// off and look the same: TestX.func1 #2 is func1 #2.
func shortNames(rec *trace.Record) {
	test, long := "", false
	for _, e := range rec.Events {
		if e.Step.Thread == 0 {
			test = e.Thread
		}
		long = long || len(e.Thread) > longName
	}
	if test == "" || !long {
		return
	}
	short := func(s string) string { return strings.ReplaceAll(s, test+".func", "func") }
	for i := range rec.Events {
		e := &rec.Events[i]
		e.Thread, e.Text = short(e.Thread), short(e.Text)
		for k := range e.Deeds {
			e.Deeds[k] = short(e.Deeds[k])
		}
	}
}

// telling reports whether a value that was read is informative: references are not.
func telling(value string) bool {
	return value != "" && (strings.ContainsRune("-0123456789\"", rune(value[0])) ||
		value == "true" || value == "false" || value == "nil" || strings.HasPrefix(value, "map of"))
}
