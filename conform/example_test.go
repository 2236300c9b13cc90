package conform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cpor/conform"
	"cpor/detect/logs"
	"cpor/model"
	"cpor/system"
)

// A lock that two clients take in turns, as a model in Go.
var turns = model.New("turns", func(b *model.Builder) {
	free := model.NewVar(b, "free", true)
	b.Processes("Client", 2, func(p *model.Process, me int) {
		p.Step(func() { p.Await(free.Get()); free.Set(false); p.Print(me, "locks") })
		p.Step(func() { free.Set(true); p.Print(me, "unlocks") })
	})
})

// The mapping of a model can be made in Go, too.
func Example() {
	pattern := func(s string) *conform.Pattern {
		p, err := conform.ParsePattern(s)
		if err != nil {
			panic(err)
		}
		return p
	}
	mapping := &conform.Mapping{
		Hosts: []conform.HostRule{{Host: pattern("node{i}"),
			Threads: []*conform.Pattern{pattern("Client[{i}]")}}},
		Events: []conform.EventRule{{Log: pattern("{what}"), Kind: system.Print,
			Text: pattern("{i} {what}")}},
	}
	log := `{"host":"node0","clock":{"node0":1},"event":"locks"}
{"host":"node1","clock":{"node1":1,"node0":1},"event":"locks"}
{"host":"node0","clock":{"node1":1,"node0":2},"event":"unlocks"}`
	runs, err := logs.Read([]logs.Input{{Name: "run.log", Data: []byte(log)}}, logs.Options{})
	if err != nil {
		panic(err)
	}
	run := runs[0].Computation
	sys, err := turns.System()
	if err != nil {
		panic(err)
	}
	res, err := conform.Check(context.Background(), sys, run, mapping, conform.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Verdict, "after", res.Followed, "of", res.Events, "events")
	for _, x := range res.Next {
		fmt.Println("next", run.Name(x.Event.Process), run.Text(x.Event.Process, x.Event.Index))
	}
	for _, o := range res.Offers {
		fmt.Printf("%s: %q, but %s\n", o.Thread, o.Does, o.Why)
	}
	// Output:
	// rejected after 1 of 3 events
	// next node1 locks
	// next node0 unlocks
	// Client[0]: "print \"0 unlocks\"", but in the log it comes after event 1 of node1
	// Client[1]: "", but waits while free = false
}

// TestPrint holds that a step of a model in Go prints once, whatever it chooses and was tried.
func TestPrint(t *testing.T) {
	m := model.New("choices", func(b *model.Builder) {
		x := model.NewVar(b, "x", int8(0))
		b.Process("P", func(p *model.Process) {
			for range 2 {
				p.Step(func() {
					v := p.Choose(3)
					p.Print("chose", v)
					p.Await(v != 1)
					x.Set(int8(v))
				})
			}
		})
	})
	sys, err := m.System()
	if err != nil {
		t.Fatal(err)
	}
	for log, want := range map[string]conform.Verdict{
		"chose 2,chose 0": conform.Accepted, "chose 0": conform.Accepted,
		"chose 2,chose 1": conform.Rejected, "chose 2,chose 2,chose 2": conform.Rejected,
	} {
		var lines strings.Builder
		for i, text := range strings.Split(log, ",") {
			fmt.Fprintf(&lines, `{"host":"h","clock":{"h":%d},"event":%q}`+"\n", i+1, text)
		}
		res, err := conform.Check(t.Context(), sys, read(t, lines.String()), &conform.Mapping{},
			conform.Options{})
		if err != nil || res.Verdict != want {
			t.Errorf("%s: %+v, %v, want %v", log, res, err, want)
		}
	}
}
