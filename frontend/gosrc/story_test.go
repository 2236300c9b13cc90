package gosrc

import (
	"fmt"
	"slices"
	"testing"

	"cpor/system"
	"cpor/trace"
)

// TestStory: traces of Go tell of messages, of where they go, and of the last step.
func TestStory(t *testing.T) {
	c := compiled(t, `package m

import "testing"

func TestMessages(t *testing.T) {
	a, b := make(chan int, 2), make(chan string)
	done := make(chan bool)
	go func() {
		a <- 7
		b <- "hello"
		close(done)
	}()
	<-a
	<-b
	<-done
}
`)
	p, err := c.Test("TestMessages", Explore{})
	if err != nil {
		t.Fatal(err)
	}
	// The first goroutine that can continue does.
	m := p.NewMachine()
	tr := &trace.Trace{}
	for moved := true; moved; {
		moved = false
		for th := range m.NumThreads() {
			if m.Step(th, 0).Kind == system.Moved {
				tr.Steps = append(tr.Steps, trace.Step{Thread: th})
				moved = true
				break
			}
		}
	}
	rec, err := tr.Record(p.System)
	if err != nil {
		t.Fatal(err)
	}
	var got, deeds []string
	for i, e := range rec.Events {
		deeds = append(deeds, e.Deeds...)
		for _, msg := range e.Messages {
			s := fmt.Sprintf("sent %v %s direct %v", msg.Sent, msg.Value, msg.Direct)
			if !msg.Direct {
				if msg.Other < 0 || msg.Other == i {
					t.Errorf("step %d: the message is joined with step %d", i, msg.Other)
				}
			} else if msg.WithName == e.Thread || msg.WithName == "" {
				t.Errorf("step %d of %s: a message with %q", i, e.Thread, msg.WithName)
			}
			got = append(got, s)
		}
	}
	slices.Sort(got)
	want := []string{"sent false 7 direct false", `sent true "hello" direct true`,
		"sent true 7 direct false"}
	if len(got) > 1 && got[1] != want[1] { // who came last
		want[1] = `sent false "hello" direct true`
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("messages %q, not %q", got, want)
	}
	if !slices.Contains(deeds, "it is closed and empty") {
		t.Errorf("deeds %q", deeds)
	}
	// Told is about the last step, whoever was asked about what comes next.
	own := p.NewMachine()
	own.Track(true)
	n := own.Capabilities().Narrating
	tells := own.Capabilities().Telling
	n.Narrate(true)
	for i, s := range tr.Steps {
		own.Step(s.Thread, s.Alt)
		for th := range own.NumThreads() {
			own.Next(th)
		}
		if _, text := tells.Told(); text != rec.Events[i].Text {
			t.Errorf("step %d: told %q, recorded %q", i, text, rec.Events[i].Text)
		}
	}
}

// TestStoryOfLibrary: what a call of the standard library does is shown as that call, further steps
// in it as such, and its own objects are not told.
func TestStoryOfLibrary(t *testing.T) {
	c := compiled(t, `package m

import (
	"context"
	"testing"
)

func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	child, stop := context.WithCancel(ctx)
	cancel()
	_ = child.Err()
	stop()
}
`)
	p, err := c.Test("TestContext", Explore{})
	if err != nil {
		t.Fatal(err)
	}
	m := p.NewMachine()
	tr := &trace.Trace{}
	for m.Step(0, 0).Kind == system.Moved {
		tr.Steps = append(tr.Steps, trace.Step{})
	}
	rec, err := tr.Record(p.System)
	if err != nil {
		t.Fatal(err)
	}
	within := 0
	lines := map[string][]int{}
	for _, e := range rec.Events {
		if e.Within {
			within++
		} else if e.Pos.Line > 0 {
			lines[e.Text] = append(lines[e.Text], e.Pos.Line)
		}
		for _, a := range e.Accesses {
			if a.Loc != "" {
				t.Errorf("%s: access to %s", e.Text, a.Loc)
			}
		}
		if len(e.Deeds) > 0 {
			t.Errorf("%s: deeds %q", e.Text, e.Deeds)
		}
	}
	if within == 0 {
		t.Error("no call has several steps")
	}
	for text, want := range map[string][]int{"context.WithCancel(...)": {10},
		"func of context.WithCancel": {11, 13}, "(*context.cancelCtx).Err(...)": {12}} {
		if got := lines[text]; !slices.Equal(got, want) {
			t.Errorf("%s at lines %v, want %v", text, got, want)
		}
	}
}
