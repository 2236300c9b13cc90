package stateless

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/system"
	"cpor/testkit/resumetest"
	toy "cpor/testkit/toysystem"
)

// told is what a search has to say of a system, however often it was interrupted: with
// one worker all counts, with several those that do not depend on who comes first.
func told(r *Result, red Reduction, alone bool) string {
	var lines []string
	for _, v := range r.Violations {
		lines = append(lines, fmt.Sprintf("%s at %v, %s; with a trace: %v", v.Kind, v.Pos, v.Object,
			v.Trace != nil))
	}
	slices.Sort(lines)
	head := fmt.Sprintf("%v %v, %d rounds", r.Verdict, r.Exhaustive, r.Rounds)
	if alone || red == None || red == DPOR {
		head += fmt.Sprintf(", %d executions", r.Executions)
	}
	if alone {
		head += fmt.Sprintf(", %d blocked, %d cut, %d transitions, depth %d", r.BlockedExecutions,
			r.CutExecutions, r.Transitions, r.MaxDepth)
	}
	return head + "\n" + strings.Join(lines, "\n")
}

// TestResume interrupts searches again and again, by a limit, a time-out or the context,
// while they keep checkpoints every few microseconds, and continues, with the same or
// with other numbers of workers: the result is that of a search that was never interrupted.
func TestResume(t *testing.T) {
	seeds := uint64(programs(300))
	interrupted, compared := 0, 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 12))
		var sys system.System
		var err error
		switch seed % 3 {
		case 0:
			sys, err = toy.New(toy.Random(r, toy.Config{NoLoops: true, Observer: r.IntN(3) == 0,
				Threads: 2 + r.IntN(3), Nodes: 2 + r.IntN(4)}))
		case 1:
			sys, err = toy.NewHeap(toy.RandomHeap(r, false))
		default:
			sys, err = parse(generate(seed))
		}
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Options: engine.Options{Workers: 1, All: true, MaxViolations: 1000,
			MaxTransitions: 20000}, Reduction: Reduction(r.IntN(len(reductionNames)))}
		if o.Reduction.Bounded() && r.IntN(3) == 0 {
			o.Deepen, o.FirstDepth = true, 2
		}
		if r.IntN(4) == 0 {
			o.Undo = Replay
		}
		alone := r.IntN(2) == 0
		res, err := Run(context.Background(), sys, o)
		if err != nil {
			t.Fatal(err)
		}
		if res.Reason != "" {
			continue // too large
		}
		c := resumetest.Chain{R: r, Options: o.Options}
		c.Options.MaxTransitions = 0
		if !alone {
			c.Workers = 4
		}
		limit := uint64(0)
		c.Limit = func(e *engine.Options) {
			limit += 1 + r.Uint64N(1+res.Transitions/6)
			e.MaxTransitions = limit
		}
		var got *Result
		c.Run = func(ctx context.Context, e engine.Options) (*engine.Result, error) {
			o := o
			o.Options = e
			var err error
			if got, err = Run(ctx, sys, o); err != nil {
				return nil, err
			}
			return &got.Result, nil
		}
		interrupted += c.Explore(t)
		compared++
		if got, want := told(got, o.Reduction, alone), told(res, o.Reduction, alone); got != want {
			t.Errorf("seed %d, %v, alone %v, deepen %v: interrupted:\n%s\nwant\n%s", seed,
				o.Reduction, alone, o.Deepen, got, want)
		}
	}
	t.Logf("%d searches were interrupted, %d results compared", interrupted, compared)
	if compared < int(seeds)/3 || interrupted < compared/2 {
		t.Errorf("only %d searches were interrupted, %d results compared", interrupted, compared)
	}
}

// TestResumeRound stops a search with growing bounds where each round begins, before
// anything of it is explored: who continues does not take the round for done.
func TestResumeRound(t *testing.T) {
	sys, err := toy.New(toy.Random(rand.New(rand.NewPCG(1, 5)),
		toy.Config{NoLoops: true, Threads: 4, Nodes: 5}))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Options: engine.Options{Workers: 1, All: true}, Reduction: Sleep, Deepen: true,
		FirstDepth: 2}
	res, err := Run(t.Context(), sys, o)
	if err != nil || res.Rounds < 3 || res.Reason != "" {
		t.Fatal(res, err)
	}
	want := told(res, o.Reduction, true)
	for round := 1; round <= res.Rounds; round++ {
		var file []byte
		o := o
		o.Checkpoint = resumetest.Last(t, &file)
		o.onRound = func(e *explorer) {
			if e.rounds == round {
				e.stop(context.Canceled)
			}
		}
		if res, err := Run(t.Context(), sys, o); err != nil || res.Reason == "" ||
			res.Rounds != round {
			t.Fatal(res, err)
		}
		o.onRound = nil
		o.Checkpoint.From = bytes.NewReader(file)
		res, err := Run(t.Context(), sys, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := told(res, o.Reduction, true); got != want {
			t.Errorf("stopped at round %d:\n%s\nwant\n%s", round, got, want)
		}
	}
}

// TestResumeDamage gives a search what was cut off, and the tree of another system: it
// refuses both.
func TestResumeDamage(t *testing.T) {
	sys, err := toy.New(toy.Random(rand.New(rand.NewPCG(1, 5)),
		toy.Config{NoLoops: true, Threads: 4, Nodes: 5}))
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	o := Options{Options: engine.Options{Workers: 1, All: true, MaxTransitions: 100},
		Reduction: Sleep}
	o.Checkpoint = resumetest.Last(t, &file)
	if res, err := Run(context.Background(), sys, o); err != nil || file == nil {
		t.Fatal(res, err)
	}
	other, err := toy.New(toy.Random(rand.New(rand.NewPCG(2, 5)),
		toy.Config{NoLoops: true, Threads: 2, Nodes: 2}))
	if err != nil {
		t.Fatal(err)
	}
	resume := func(from io.Reader) error {
		o := o
		o.Checkpoint = resumetest.Last(t, &[]byte{})
		o.Checkpoint.From = from
		_, err := Run(context.Background(), sys, o)
		return err
	}
	resumetest.Refuses(t, file, resume)
	o.MaxTransitions = 0
	if err := resume(bytes.NewReader(file)); err != nil {
		t.Error(err)
	}
	sys = other
	var wrong *engine.OptionError
	if err := resume(bytes.NewReader(file)); !errors.As(err, &wrong) {
		t.Errorf("another system: %v", err)
	}
}
