package explore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/explore"
	"cpor/frontend"
	_ "cpor/frontend/model"
	_ "cpor/frontend/promela"
	"cpor/trace"
)

const tutorial = "../docs/tutorial/"

// load loads a program as the command does.
func load(t *testing.T, file string, params ...string) *explore.Explorer {
	t.Helper()
	o := frontend.Options{Params: map[string]string{}}
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		o.Params[name] = value
	}
	m, err := frontend.Load(file, o)
	if err != nil {
		t.Fatal(err)
	}
	x := &explore.Explorer{Program: m, File: file}
	x.Reload = func(text string) (*frontend.Program, error) {
		o.Files = map[string]string{}
		for _, f := range m.Sources {
			o.Files[f.Name] = f.Text
		}
		o.Files[file] = text
		return frontend.Load(file, o)
	}
	return x
}

// programs are explored by the tests that want many: threads with locals, with
// channels, with choices, with an invariant, and SPIN's language.
func programs(t *testing.T) []*explore.Explorer {
	pml := filepath.Join(t.TempDir(), "two.pml")
	if err := os.WriteFile(pml,
		[]byte("byte x; chan c = [1] of { byte };\nactive [2] proctype P() { byte y; y = x; if "+
			":: c!y :: x = y + 1 fi }\nltl p { [] (x < 9) }\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return []*explore.Explorer{
		load(t, tutorial+"counter.model"),
		load(t, tutorial+"peterson-wrong.model"),
		load(t, "../docs/explore/mailbox.model", "REUSE=true"),
		load(t, "../benchmarks/siegel/prodcons.model"),
		load(t, pml),
	}
}

// walk takes moves at random.
func walk(t *testing.T, x *explore.Explorer, rnd *rand.Rand, steps int) explore.Path {
	t.Helper()
	p := explore.Path{Initial: rnd.IntN(x.Initial())}
	for range steps {
		moves, err := x.Moves(p)
		if err != nil {
			t.Fatal(err)
		}
		moves = slices.DeleteFunc(moves, func(m explore.Move) bool { return m.State != "enabled" })
		if len(moves) == 0 {
			break
		}
		p.Steps = append(p.Steps, moves[rnd.IntN(len(moves))].Step)
	}
	return p
}

func tracesOf(p explore.Path) *trace.Trace {
	t := &trace.Trace{Initial: p.Initial}
	for _, s := range p.Steps {
		t.Steps = append(t.Steps, trace.Step{Thread: int(s[0]), Alt: s[1]})
	}
	return t
}

// TestPlay holds what a document says of an execution to the record of the same: the
// states that come out when the changes are put together, and the dependencies, by
// brute force over all pairs of steps.
func TestPlay(t *testing.T) {
	for _, x := range programs(t) {
		rnd := rand.New(rand.NewPCG(1, 2))
		for range 6 {
			p := walk(t, x, rnd, 30)
			d, err := x.Play(p)
			if err != nil {
				t.Fatal(err)
			}
			rec, err := tracesOf(p).RecordStates(x.Program.System)
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Rows) != len(rec.Events) || d.Total != len(d.Rows) {
				t.Fatalf("%d rows for %d steps", len(d.Rows), len(rec.Events))
			}
			values := map[string]string{}
			stands := map[int]explore.Standing{}
			for _, v := range d.Vars {
				values[v.Group+"\x00"+v.Name] = v.Value
			}
			for _, s := range d.Next {
				stands[s.Column] = s
			}
			for k := range rec.States {
				if k > 0 {
					for _, s := range d.Rows[k-1].Set {
						v := d.Vars[s.Var]
						if values[v.Group+"\x00"+v.Name] == s.Value {
							t.Errorf("step %d sets %s to the value that it has", k, v.Name)
						}
						values[v.Group+"\x00"+v.Name] = s.Value
					}
					for _, s := range d.Rows[k-1].Next {
						stands[s.Column] = s
					}
				}
				want := map[string]string{}
				for _, b := range rec.States[k].Shared {
					if b.Value == "" { // nothing is known of it yet
						continue
					}
					want["shared\x00"+b.Name] = b.Value
				}
				for c, th := range rec.States[k].Threads {
					for _, b := range th.Locals {
						want[d.Columns[c]+"\x00"+b.Name] = b.Value
					}
					if stands[c].Text != th.Text || stands[c].Pos.Line != th.Pos.Line {
						t.Errorf("after step %d, %s stands at %q, not %q", k, th.Name,
							stands[c].Text, th.Text)
					}
				}
				got := map[string]string{}
				for name, v := range values {
					if v != "" {
						got[name] = v
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("%s: after step %d (- want):\n%s", x.File, k, diff)
				}
			}
			checkDepends(t, d, rec)
		}
	}
}

// checkDepends compares the dependencies of a document with all pairs of steps.
func checkDepends(t *testing.T, d *explore.Document, rec *trace.Record) {
	t.Helper()
	n := len(rec.Events)
	closure := func(direct func(i, j int) bool) [][]bool {
		c := make([][]bool, n)
		for j := range n {
			c[j] = make([]bool, n)
			for i := range j {
				if direct(i, j) {
					c[j][i] = true
					for k := range i {
						c[j][k] = c[j][k] || c[i][k]
					}
				}
			}
		}
		return c
	}
	conflict := func(i, j int) bool {
		a, b := &rec.Events[i], &rec.Events[j]
		if a.Step.Thread == b.Step.Thread {
			return true
		}
		for _, x := range a.Accesses {
			for _, y := range b.Accesses {
				if x.Loc == y.Loc && (x.Write || y.Write) {
					return true
				}
			}
		}
		return false
	}
	want := closure(conflict)
	got := closure(func(i, j int) bool { return slices.Contains(d.Rows[j].Depends, i) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("the dependencies (- want):\n%s", diff)
	}
	for j := range d.Rows {
		for _, i := range d.Rows[j].Depends {
			for _, k := range d.Rows[j].Depends {
				if k != i && got[k][i] {
					t.Errorf("step %d need not name %d beside %d", j, i, k)
				}
			}
		}
	}
}

// taken takes the first alternative of threads by their names.
func taken(t *testing.T, x *explore.Explorer, names ...string) explore.Path {
	t.Helper()
	var p explore.Path
	for _, name := range names {
		moves, err := x.Moves(p)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(moves, func(m explore.Move) bool {
			return m.Name == name && m.State == "enabled"
		})
		if i < 0 {
			t.Fatalf("%s cannot move after %v", name, p.Steps)
		}
		p.Steps = append(p.Steps, moves[i].Step)
	}
	return p
}

// wrongWay violates the invariant of peterson-wrong.model with its last step.
var wrongWay = []string{"Process[0]", "Process[1]", "Process[1]", "Process[1]", "Process[0]",
	"Process[0]"}

func TestViolationIsTold(t *testing.T) {
	x := load(t, tutorial+"peterson-wrong.model")
	d, err := x.Play(taken(t, x, wrongWay...))
	if err != nil || len(d.Rows) != 6 {
		t.Fatalf("%d rows, %v", len(d.Rows), err)
	}
	for i, r := range d.Rows {
		want := ""
		if i == 5 {
			want = "invariant mutual_exclusion does not hold"
		}
		if r.Violation != want {
			t.Errorf("step %d violates %q, want %q", i+1, r.Violation, want)
		}
	}
	for _, c := range d.Columns {
		if strings.Contains(c, "invariant") {
			t.Errorf("an observer is a column: %s", c)
		}
	}
}

func TestBadPaths(t *testing.T) {
	x := load(t, tutorial+"counter.model")
	for _, p := range []explore.Path{
		{Initial: 1}, {Initial: -1}, {Steps: []explore.Step{{7, 0}}},
		{Steps: []explore.Step{{1 << 63, 0}}},
		{Steps: []explore.Step{{0, 0}, {0, 0}, {0, 0}, {0, 0}}},
	} {
		if _, err := x.Play(p); err == nil {
			t.Errorf("%v can be played", p)
		}
		if _, err := x.Moves(p); err == nil {
			t.Errorf("%v has moves", p)
		}
		if _, err := x.From(p); err == nil {
			t.Errorf("%v leads somewhere", p)
		}
	}
}

func TestJump(t *testing.T) {
	ctx := context.Background()
	counter, peterson := load(t, tutorial+"counter.model"), load(t, tutorial+"peterson.model")
	pml := programs(t)[4]
	for _, c := range []struct {
		x         *explore.Explorer
		from      []explore.Step
		predicate string
		steps     int // of the path that is found
		err       string
	}{
		{x: counter, predicate: "counter == 0", steps: 0},
		{x: counter, predicate: "counter == 1 && done == 2", steps: 6},
		{x: counter, from: []explore.Step{{0, 0}, {0, 0}}, predicate: "counter == 2", steps: 4},
		{x: counter, predicate: "counter == 3", err: "no state reachable from here"},
		{x: counter, predicate: "10 / counter == 4",
			err: "no state reachable from here satisfies it; in 4 states it cannot be " +
				"evaluated: division by zero"},
		{x: counter, predicate: "10 / counter == 5", steps: 4},
		{x: peterson, predicate: "!flag[turn + 7]",
			err: "it cannot be evaluated: index out of range [7] with length 2"},
		{x: counter, predicate: "countr == 3", err: "did you mean counter?"},
		{x: counter, predicate: "counter", err: "the condition counter:"},
		{x: counter, predicate: " ", err: "no condition given"},
		{x: counter, predicate: "<> (counter == 1)", err: "no temporal operators"},
		{x: counter, predicate: "true } ltl q { true", err: "a single expression"},
		{x: counter, predicate: "true // or not", err: "a single expression"},
		{x: peterson, predicate: "Process[0]@critical", steps: 3},
		{x: peterson, predicate: "Process[0]@critical && flag[1]", steps: 4},
		{x: peterson, predicate: "Process[0]@critical && Process[1]@critical", err: "no state"},
		{x: pml, predicate: "x == 2", steps: 4},
		{x: pml, predicate: "len(c) == 1 && x == 1", steps: 4},
	} {
		from := explore.Path{Steps: c.from}
		p, err := c.x.Jump(ctx, from, c.predicate, 100_000)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.predicate, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.predicate, err)
		case len(p.Steps) != c.steps:
			t.Errorf("%s: %d steps, want %d: %v", c.predicate, len(p.Steps), c.steps, p)
		case !slices.Equal(p.Steps[:len(c.from)], c.from):
			t.Errorf("%s: the way %v does not begin with %v", c.predicate, p.Steps, c.from)
		default:
			if _, err := c.x.Play(p); err != nil {
				t.Errorf("%s: %v", c.predicate, err)
			}
		}
	}
	if _, err := counter.Jump(ctx, explore.Path{}, "counter == 3", 5); err == nil ||
		!strings.Contains(err.Error(), "none of the first 5 states") {
		t.Errorf("a bound is not told: %v", err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := counter.Jump(over, explore.Path{}, "counter == 3", 100); err == nil ||
		!strings.Contains(err.Error(), "stopped") {
		t.Errorf("a jump goes on: %v", err)
	}
}

// plan prepares a search.
func plan(t *testing.T, x *explore.Explorer, mode, por string, at *explore.Path,
	o engine.Options) *explore.Plan {
	t.Helper()
	e, err := engine.Lookup(mode, por)
	if err != nil {
		t.Fatal(err)
	}
	sys := x.Program.System
	if at != nil {
		if sys, err = x.From(*at); err != nil {
			t.Fatal(err)
		}
	}
	return &explore.Plan{Name: por, Entry: e, Task: &engine.Task{System: sys, Options: o}}
}

// TestSearchFrom: a search from a state finds what can be reached from there, and no more,
// with every engine that takes the program; and what it finds can be played.
func TestSearchFrom(t *testing.T) {
	x := load(t, tutorial+"counter.model")
	lost := explore.Path{Steps: []explore.Step{{0, 0}, {1, 0}, {0, 0}}} // both have read 0
	saved := explore.Path{Steps: []explore.Step{{0, 0}, {0, 0}}}        // one after another
	for _, e := range engine.Entries("") {
		if engine.LookupMode(e.Mode).Temporal || e.Unmet(x.Program.System) != nil {
			continue
		}
		if e.Mode == "stateful" && (e.Name == "locks" || e.Name == "invisible-first") {
			continue // the program has no locks, on which they rest
		}
		for _, c := range []struct {
			at      *explore.Path
			verdict string
		}{{nil, "violation"}, {&lost, "violation"}, {&saved, "pass"}} {
			s := x.Start(t.Context(), plan(t, x, e.Mode, e.Name, c.at, engine.Options{Workers: 1}),
				c.at)
			s.Wait()
			st := s.Status()
			if st.Verdict != c.verdict || st.Running {
				t.Errorf("%s %s from %v: %s %s %s, want %s", e.Mode, e.Name, c.at, st.Verdict,
					st.Reason, st.Error, c.verdict)
				continue
			}
			if c.verdict == "pass" {
				if _, err := s.Found(0); err == nil {
					t.Error("there is a finding")
				}
				continue
			}
			d, err := s.Found(0)
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Rows[len(d.Rows)-1].Violation; !strings.Contains(got,
				"an update was lost") {
				t.Errorf("%s %s: the last step violates %q", e.Mode, e.Name, got)
			}
			if c.at != nil && !slices.Equal(d.Path.Steps[:len(c.at.Steps)], c.at.Steps) {
				t.Errorf("%s %s: the way there does not stand in front: %v", e.Mode, e.Name, d.Path)
			}
		}
	}
}

// TestForecast: a search that runs says how long it takes, or that this is not known yet, and
// one that has ended says nothing of the kind.
func TestForecast(t *testing.T) {
	// It takes long enough to be stopped, on any machine.
	x := load(t, "../benchmarks/philosophers.model", "N=14")
	s := x.Start(t.Context(), plan(t, x, "stateful", "none", nil, engine.Options{
		Workers: 1, IgnoreDeadlocks: true}), nil)
	said := ""
	for said == "" && s.Status().Running {
		said = s.Status().Forecast
		time.Sleep(10 * time.Millisecond)
	}
	s.Stop()
	s.Wait()
	if said != "no forecast yet" && !strings.HasPrefix(said, "about ") {
		t.Errorf("it said %q", said)
	}
	if st := s.Status(); st.Verdict != "incomplete" || st.Forecast != "" {
		t.Errorf("at the end: %s %q", st.Verdict, st.Forecast)
	}
}

func TestStop(t *testing.T) {
	x := load(t, "../benchmarks/robots.model", "R=3", "N=40")
	s := x.Start(t.Context(), plan(t, x, "stateful", "none", nil, engine.Options{Workers: 2}), nil)
	for len(s.Status().Samples) < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	s.Stop()
	s.Wait()
	st := s.Status()
	if st.Verdict != "incomplete" || st.Reason != "stopped by the user" || st.Running {
		t.Errorf("verdict %q, reason %q", st.Verdict, st.Reason)
	}
	for i := 1; i < len(st.Samples); i++ {
		if st.Samples[i].Seconds < st.Samples[i-1].Seconds ||
			st.Samples[i].States < st.Samples[i-1].States {
			t.Errorf("sample %d: %v after %v", i, st.Samples[i], st.Samples[i-1])
		}
	}
}

// TestEngineFails: what an engine has against a task is told, and a panic is an internal
// error.
func TestEngineFails(t *testing.T) {
	x := load(t, tutorial+"counter.model")
	for _, c := range []struct {
		run  func() (*engine.Result, error)
		want string
	}{
		{func() (*engine.Result, error) {
			return nil, &engine.OptionError{Message: "no such store"}
		}, "no such store"},
		{func() (*engine.Result, error) { return nil, errors.New("a fault") },
			"internal error: a fault"},
		{func() (*engine.Result, error) { panic("a fault") }, "internal error: a fault"},
	} {
		e := &engine.Entry{Run: func(context.Context, *engine.Task) (*engine.Result, error) {
			return c.run()
		}}
		done := false
		s := x.Start(t.Context(), &explore.Plan{Entry: e, Task: &engine.Task{}, Done: func() {
			done = true
		}}, nil)
		s.Wait()
		if st := s.Status(); st.Verdict != "error" || !strings.HasPrefix(st.Error, c.want) ||
			st.Running || !done {
			t.Errorf("%s: %q, %q", c.want, st.Verdict, st.Error)
		}
	}
}

// TestGraph holds the numbers of states to those of the searches, and the marks to what a
// reduction may do.
func TestGraph(t *testing.T) {
	for _, x := range programs(t) {
		states := func(por string) int {
			s := x.Start(t.Context(), plan(t, x, "stateful", por, nil, engine.Options{
				Workers: 1, All: true}), nil)
			s.Wait()
			st := s.Status()
			return int(st.Samples[len(st.Samples)-1].States)
		}
		for _, por := range []string{"", "none", "cartesian"} {
			g, err := x.Graph(t.Context(), por)
			if err != nil {
				t.Fatalf("%s: %v", x.File, err)
			}
			covered := 0
			at := map[string]bool{}
			for i, n := range g.Nodes {
				if n.Covered {
					covered++
				}
				at[fmt.Sprint(n.Values)] = true
				for k, v := range n.Values {
					if v >= len(g.Vars[k].Values) {
						t.Errorf("node %d has value %d of %s", i, v, g.Vars[k].Name)
					}
				}
				if n.Parent >= i || n.Parent >= 0 && n.Y != g.Nodes[n.Parent].Y+1 {
					t.Errorf("node %d has the parent %d", i, n.Parent)
				}
			}
			if len(at) < 2 {
				t.Errorf("%s: the nodes have only %d different values", x.File, len(at))
			}
			reached := map[int]bool{}
			for _, e := range g.Edges {
				if e.Taken {
					reached[e.To] = true
				}
			}
			for i, n := range g.Nodes {
				if por != "" && n.Covered && n.Parent >= 0 && !reached[i] {
					t.Errorf("%s: %s covers state %d without a way there", x.File, por, i)
				}
			}
			// Observers are not part of the states that are drawn.
			if observed := strings.Contains(x.File, "peterson"); !observed && g.Complete {
				if por == "" && len(g.Nodes) != states("none") {
					t.Errorf("%s: %d nodes, %d states", x.File, len(g.Nodes), states("none"))
				}
				if por == "cartesian" && covered != states("cartesian") {
					t.Errorf("%s: %d nodes are covered, %d states", x.File, covered,
						states("cartesian"))
				}
			}
			if por == "none" && g.Complete && covered != len(g.Nodes) {
				t.Errorf("%s: the full search covers %d of %d nodes", x.File, covered, len(g.Nodes))
			}
		}
	}
	big := load(t, "../benchmarks/robots.model")
	g, err := big.Graph(t.Context(), "")
	if err != nil || g.Complete || len(g.Nodes) != explore.MaxGraph {
		t.Errorf("a large graph: %v, %d nodes, complete %v", err, len(g.Nodes), g.Complete)
	}
	if _, err := big.Graph(t.Context(), "magic"); err == nil || !strings.Contains(err.Error(),
		"unknown reduction") {
		t.Errorf("an unknown reduction: %v", err)
	}
	if _, err := big.Graph(t.Context(), "locks"); err == nil || !strings.Contains(err.Error(),
		"locking discipline") {
		t.Errorf("a reduction that rests on what is not checked: %v", err)
	}
}

// kept writes a text to a file and reads it.
func kept(t *testing.T, text string) (*explore.Kept, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kept.json")
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return explore.Read(name)
}

// TestRead: a trace that was written is read, and restored it is what was played; with
// and without states, and alone as far as it tells.
// TestPrefix: the paths of a prefix's events can be played, and end with the event.
func TestPrefix(t *testing.T) {
	for _, x := range programs(t) {
		p, err := x.Prefix(t.Context())
		if x.Unfolds() != nil {
			if err == nil {
				t.Errorf("%s: there is a picture of no unfolding", x.File)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if !p.Complete || len(p.Events) == 0 || len(p.Paths) != len(p.Events) {
			t.Errorf("%s: %d events, %d paths, complete: %v", x.File, len(p.Events), len(p.Paths),
				p.Complete)
		}
		for i, path := range p.Paths {
			d, err := x.Play(path)
			if err != nil {
				t.Fatalf("%s: event %d: %v", x.File, i+1, err)
			}
			if len(d.Rows) == 0 {
				continue // of an invariant
			}
			e, last := &p.Events[i], d.Rows[len(d.Rows)-1]
			if name := p.Columns[e.Column].Name; !strings.HasPrefix(name, "invariant") &&
				(d.Columns[last.Column] != name || last.Text != e.Text || last.Pos.Line != e.Line) {
				t.Errorf("%s: event %d is %s: %d: %s, and its path ends with %s: %d: %s", x.File,
					i+1, name, e.Line, e.Text, d.Columns[last.Column], last.Pos.Line, last.Text)
			}
		}
	}
	x := load(t, "../benchmarks/philosophers.model", "N=30")
	if p, err := x.Prefix(t.Context()); err != nil || p.Complete || len(p.Events) != 400 {
		t.Errorf("a large prefix: %v, complete: %v", err, p != nil && p.Complete)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Prefix(ctx); err == nil {
		t.Error("a prefix was built after the end")
	}
}

func TestRead(t *testing.T) {
	for _, x := range programs(t) {
		rnd := rand.New(rand.NewPCG(3, 4))
		for range 3 {
			p := walk(t, x, rnd, 20)
			want, err := x.Play(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, record := range []func(*trace.Trace) (*trace.Record, error){
				func(tr *trace.Trace) (*trace.Record, error) { return tr.Record(x.Program.System) },
				func(tr *trace.Trace) (*trace.Record, error) {
					return tr.RecordStates(x.Program.System)
				},
			} {
				rec, err := record(tracesOf(p))
				if err != nil {
					t.Fatal(err)
				}
				var b bytes.Buffer
				if err := rec.WriteJSON(&b); err != nil {
					t.Fatal(err)
				}
				k, err := kept(t, b.String())
				if err != nil {
					t.Fatal(err)
				}
				d := k.Documents[0]
				if len(d.Rows) != len(want.Rows) || !slices.Equal(d.Columns, want.Columns) &&
					len(d.Rows) > 0 && rec.States != nil {
					t.Fatalf("%d rows of %v, want %d of %v", len(d.Rows), d.Columns, len(want.Rows),
						want.Columns)
				}
				for i := range d.Rows {
					if d.Rows[i].Text != want.Rows[i].Text || d.Rows[i].Pos != want.Rows[i].Pos {
						t.Errorf("step %d: %q, want %q", i+1, d.Rows[i].Text, want.Rows[i].Text)
					}
					if diff := cmp.Diff(want.Rows[i].Depends, d.Rows[i].Depends); diff != "" {
						t.Errorf("step %d depends (- want):\n%s", i+1, diff)
					}
				}
				if diff := cmp.Diff(want.Arrows, d.Arrows); diff != "" {
					t.Errorf("messages (- want):\n%s", diff)
				}
				// Without a violation, nothing has to be violated at the end.
				d.Kind = "deadlock"
				k.Restore(t.Context(), x)
				full, _ := json.Marshal(k.Documents[0].Rows)
				played, _ := json.Marshal(want.Rows)
				if string(full) != string(played) {
					t.Errorf("%s: restored:\n%s\nplayed:\n%s\nnotes: %v", x.File, full, played,
						k.Documents[0].Notes)
				}
			}
		}
	}
}

func TestRestoreOther(t *testing.T) {
	x := load(t, tutorial+"peterson-wrong.model")
	rec, err := tracesOf(taken(t, x, wrongWay...)).Record(x.Program.System)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(rec)
	text = bytes.Replace(text, []byte(`"pos":""`),
		[]byte(
			`"kind":"invariant","message":"invariant mutual_exclusion does not hold","pos":"x.model:1:1"`), 1)
	for file, want := range map[string]string{
		tutorial + "peterson.model":       "its constants have changed since",
		tutorial + "counter.model":        "has no thread Process[0]",
		tutorial + "peterson-wrong.model": "",
	} {
		k, err := kept(t, string(text))
		if err != nil {
			t.Fatal(err)
		}
		k.Restore(t.Context(), load(t, file))
		d := k.Documents[0]
		if notes := strings.Join(d.Notes, " "); !strings.Contains(notes, want) ||
			(want == "") != (notes == "") || (d.Path == nil) != (want != "") {
			t.Errorf("%s: path %v, notes %q, want %q", file, d.Path, notes, want)
		}
	}
}

func TestReadBad(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "not JSON",
		"thread T() {}":             "not JSON",
		"[]":                        "no execution",
		"[3]":                       "not JSON",
		"{}":                        "neither a trace",
		"3":                         "not JSON",
		`{"trace": 3}`:              "damaged",
		`{"vars": [], "states":[]}`: "ITF",
		`{"trace": [], "loop": 2}`:  "returns to step 2 of 0",
		`{"model": "m.model", "verdict": "pass", "violations": []}`: "m.model: pass: there is no " +
			"execution",
		`{"model": "m.model", "violations": [{"kind": 1}]}`: "damaged",
		`{"trace": [{"thread": 7}]}`:                        "damaged",
	} {
		if _, err := kept(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	if _, err := explore.Read(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err,
		os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestCoverage: what a search has executed is told while it runs and after it, apart from
// what is executed for the page.
func TestCoverage(t *testing.T) {
	load := func() *frontend.Program {
		p, err := frontend.Load("../docs/tutorial/counter.model", frontend.Options{
			Params: map[string]string{"THREADS": "4"}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	x := &explore.Explorer{Program: load(), File: "counter.model"}
	if _, err := x.Play(explore.Path{}); err != nil {
		t.Fatal(err)
	}
	own := load()
	e, err := engine.Lookup("stateful", "none")
	if err != nil {
		t.Fatal(err)
	}
	s := x.Start(t.Context(), &explore.Plan{Name: "none", Entry: e, Program: own,
		Task: &engine.Task{System: own.System, Options: engine.Options{Workers: 2, All: true,
			KeepTraces: true}, Flags: new(engine.Values)}}, nil)
	before := 0
	for s.Status().Running {
		c := s.Coverage()
		if c.Executed < before {
			t.Fatalf("%d lines were executed, then %d", before, c.Executed)
		}
		before = c.Executed
		time.Sleep(time.Millisecond)
	}
	s.Wait()
	c := s.Coverage()
	if c.Means == "" || len(c.Files) != 1 || c.Executed < before || c.Executed < 4 ||
		c.Lines < c.Executed {
		t.Errorf("%d of %d lines, before the end %d", c.Executed, c.Lines, before)
	}
	want := map[int]bool{}
	for _, n := range own.Coverage().Counts {
		if n.N > 0 {
			want[n.Pos.Line] = true
		}
	}
	for _, l := range c.Files[0].Lines {
		if l.N > 0 && !want[l.Line] {
			t.Errorf("line %d was not executed", l.Line)
		}
	}
}

// TestHistory: the calls of a trace of check.Linearizable are in the document, whose title is the
// first line of what failed.
func TestHistory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "q.json")
	if err := os.WriteFile(name, []byte(`{"package": "q", "test": "TestQ", "failure": {
		"kind": "failed", "headline": "failed: *q.Queue is not linearizable\n\n    goroutine 1"},
		"record": {"pos": "", "initial": 0, "trace": [], "final": [], "history": {
			"type": "*q.Queue", "promise": "linearizable", "scenario": "Take() || Take()",
			"calls": [{"goroutine": 1, "call": "Take()", "begin": 0, "end": -1}]}}}`), 0o666); err != nil {
		t.Fatal(err)
	}
	k, err := explore.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	d := k.Documents[0]
	if d.Title != "failed: *q.Queue is not linearizable" || d.History == nil ||
		len(d.History.Calls) != 1 || d.History.Calls[0].End != -1 {
		t.Errorf("title %q, history %+v", d.Title, d.History)
	}
}
