package testcmd

import (
	"bytes"
	"fmt"
	"strings"

	"cpor/frontend/gosrc"
	"cpor/gotest"
	"cpor/trace"
)

// Headline returns place, kind and message of a failure in one line.
func Headline(f *gotest.Failure) string {
	text := f.Message
	if kind := string(f.Kind); !strings.HasPrefix(text, kind) && f.Kind != gotest.Race && f.Kind != gotest.Fatal && f.Kind != gotest.Exit {
		text = kind + ": " + text
	}
	if p := trace.PosString(f.Pos); p != "" {
		text = p + ": " + text
	}
	return text
}

// Describe returns a failing execution for people: a table of its steps at most
// width columns wide, what it printed, and the stacks of the goroutines that
// matter.
func Describe(p *gosrc.Program, f *gotest.Failure, width int) string {
	var b bytes.Buffer
	if f.Note != "" {
		fmt.Fprintf(&b, "%s\n", f.Note)
	}
	if f.Trace != nil {
		rec, err := f.Trace.Record(p)
		if err == nil {
			rec.Final = nil // the stacks below say more
			err = rec.WriteTable(&b, trace.TableOptions{Width: width, OmitViolation: true, MaxSteps: 60})
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
	for _, s := range f.Stacks {
		fmt.Fprintf(&b, "\n%s: %s\n", s.Goroutine, s.What)
		for _, fr := range s.Frames {
			fmt.Fprintf(&b, "\t%s (%s:%d)\n", fr.Func, fr.Pos.File, fr.Pos.Line)
		}
	}
	return b.String()
}
