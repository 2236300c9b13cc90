package conform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cpor/engine"
	_ "cpor/engine/all" // they register themselves
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/testkit/gotable"
)

// Program is a program that can be explored.
type Program struct {
	Name     string
	compiled *gosrc.Compiled
	test     string // empty: main is explored
	broken   error
}

// Load compiles main packages, by name, of one language version; dir is an empty
// directory. A name that ends in .go is that of the file.
func Load(ctx context.Context, dir, goVersion string,
	sources map[string]string) (map[string]*Program, error) {
	if err := os.WriteFile(filepath.Join(dir, "go.mod"),
		[]byte("module programs\n\ngo "+goVersion+"\n"), 0o666); err != nil {
		return nil, err
	}
	names := map[string]string{}
	for name, src := range sources {
		sub := fmt.Sprintf("p%d", len(names))
		names["programs/"+sub] = name
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return nil, err
		}
		file := "main.go"
		if strings.HasSuffix(name, ".go") { // some look for their own name
			file = filepath.Base(name)
		}
		if err := os.WriteFile(filepath.Join(dir, sub, file), []byte(src), 0o666); err != nil {
			return nil, err
		}
	}
	pkgs, err := gosrc.Load(ctx, []string{"./..."}, gosrc.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	out := map[string]*Program{}
	for _, p := range pkgs {
		name := names[p.Path]
		prog := &Program{Name: name}
		if len(p.Errors) > 0 {
			prog.broken = p.Errors[0]
		} else {
			prog.compiled, prog.broken = p.Compile()
		}
		out[name] = prog
	}
	if len(out) != len(sources) {
		return nil, fmt.Errorf("%d of %d programs were loaded", len(out), len(sources))
	}
	return out, nil
}

// Run says how a program is explored.
type Run struct {
	Mode, Entry string // of the engine
	Explore     gosrc.Explore
	Timeout     time.Duration
	Workers     int
}

// Found is what an exploration of a program found out.
type Found struct {
	Outcomes []gotable.Outcome // sorted
	*engine.Result
}

// Outcomes explores a program. The error says why that is impossible: something is unsupported, or
// a fault.
func (p *Program) Outcomes(ctx context.Context, r Run) (*Found, error) {
	if p.broken != nil {
		return nil, p.broken
	}
	r.Explore.Outcomes = true
	explore := p.compiled.Main
	if p.test != "" {
		explore = func(x gosrc.Explore) (*gosrc.Program, error) {
			return p.compiled.Test(p.test,
				x)
		}
	}
	prog, err := explore(r.Explore)
	if err != nil {
		return nil, err
	}
	e, err := engine.Lookup(r.Mode, r.Entry)
	if err != nil {
		return nil, err
	}
	rec := &recorder{System: prog, found: map[gotable.Outcome]bool{}, test: p.test != ""}
	res, err := e.Run(ctx, &engine.Task{System: rec, Flags: &engine.Values{},
		Options: engine.Options{
			Workers: max(1, r.Workers), All: true, MaxViolations: 1000, KeepTraces: true,
			Timeout: r.Timeout,
		}})
	if err != nil {
		return nil, err
	}
	if u := prog.Unsupported(); u != nil {
		return nil, u
	}
	if why := prog.GaveUp(); why != "" {
		res.Doubt(why)
	}
	for _, v := range res.Violations {
		switch {
		case v.Kind == machine.Raced:
			rec.found[gotable.Outcome{Ending: "race"}] = true
		case v.Kind == system.Deadlock && v.Trace != nil:
			// A search may skip the state by composing it.
			m := prog.NewMachine().(*machine.Machine)
			for _, s := range v.Trace.Steps {
				m.Step(s.Thread, s.Alt)
			}
			for _, o := range outcomes(m) {
				rec.found[o] = true
			}
		}
	}
	f := &Found{Result: res}
	for o := range rec.found {
		f.Outcomes = append(f.Outcomes, o)
	}
	slices.SortFunc(f.Outcomes, gotable.Compare)
	return f, nil
}

// adjacentRace reports whether there is a state in which two goroutines can go on that are about
// to access the same word, at least one of them writing, and at least one of them without
// synchronization. It looks at all states, a transition for each access; complete is false if
// there are more than limit.
func (p *Program) adjacentRace(limit int) (race, complete bool, err error) {
	prog, err := p.compiled.Main(gosrc.Explore{Granularity: gosrc.MemoryAccesses, NoRaces: true})
	if err != nil {
		return false, false, err
	}
	m := prog.NewMachine().(*machine.Machine)
	m.Track(true)
	seen := map[string]bool{}
	work := []system.State{prog.Initial()[0]}
	var next [][]system.Access
	for len(work) > 0 && !race {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		m.Load(s)
		mark := m.Mark()
		next = next[:0]
		var plain []bool
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				paused := m.Paused(t)
				out := m.Step(t, alt)
				if out.Kind != system.Moved {
					break
				}
				var acc []system.Access
				for _, a := range m.Accesses() {
					if m.IsWord(a.Loc) {
						acc = append(acc, a)
					}
				}
				if alt == 0 {
					next, plain = append(next, acc), append(plain, paused)
				}
				e := m.Encode(nil)
				if key := fmt.Sprint(e); !seen[key] {
					if len(seen) >= limit {
						return false, false, nil
					}
					seen[key] = true
					work = append(work, e)
				}
				m.Rewind(mark)
				alt, more = out.Next, out.Next != 0
			}
		}
		race = conflict(next, plain)
	}
	return race, true, nil
}

// conflict reports whether two of these transitions access the same word, one of them writing
// and one of them without synchronization.
func conflict(next [][]system.Access, plain []bool) bool {
	for i, x := range next {
		for k, y := range next[:i] {
			for _, a := range x {
				for _, b := range y {
					if (plain[i] || plain[k]) && a.Loc == b.Loc && (a.Write || b.Write) {
						return true
					}
				}
			}
		}
	}
	return false
}

// Once runs a program under one schedule: the lowest goroutine that can run takes its first
// alternative. It is for sequential programs.
func (p *Program) Once(limit int) (gotable.Outcome, error) {
	if p.broken != nil {
		return gotable.Outcome{}, p.broken
	}
	prog, err := p.compiled.Main(gosrc.Explore{Outcomes: true})
	if err != nil {
		return gotable.Outcome{}, err
	}
	m := prog.NewMachine().(*machine.Machine)
	m.Load(prog.Initial()[0])
	for range limit {
		moved := false
		for t := 0; t < m.NumThreads() && !moved; t++ {
			moved = m.Step(t, 0).Kind == system.Moved
		}
		if !moved {
			if u := prog.Unsupported(); u != nil {
				return gotable.Outcome{}, u
			}
			if why := prog.GaveUp(); why != "" {
				return gotable.Outcome{}, fmt.Errorf("given up: %s", why)
			}
			return outcomes(m)[0], nil
		}
	}
	return gotable.Outcome{}, fmt.Errorf("no end after %d steps", limit)
}

// outcomes tells how the execution that led to a machine's live state may have
// ended. In the machine the others go on when a goroutine has failed. In Go the first
// failure ends the program; each of several can be the first one, because the
// others need nothing of what a goroutine does when it fails.
func outcomes(m *machine.Machine) []gotable.Outcome {
	var os []gotable.Outcome
	for _, v := range m.Failed() {
		os = append(os, gotable.NewOutcome(m.Output(), ending(v)))
	}
	if len(os) > 0 {
		return os
	}
	if _, first := m.Stuck(); first {
		return []gotable.Outcome{gotable.NewOutcome(m.Output(), "deadlock")}
	}
	return []gotable.Outcome{gotable.NewOutcome(m.Output(), "")}
}

// ending is how a failure ends a program.
func ending(v *system.Violation) string {
	switch v.Kind {
	case machine.Panicked:
		return "panic: " + strings.TrimPrefix(v.Message, "panic: ")
	case machine.Fatal:
		return "fatal: " + strings.TrimPrefix(v.Message, "fatal error: ")
	case machine.Exited:
		return v.Message
	}
	return string(v.Kind) + ": " + v.Message
}

// recorder wraps a program: its machines note the outcome whenever nobody can run, and
// whenever a goroutine fails. A search that promises local states and not global ones (the
// cartesian one) takes each step that fails, and need not come to the state in which all
// others have ended as well.
type recorder struct {
	system.System
	mu    sync.Mutex
	found map[gotable.Outcome]bool
	test  bool // timers may go off behind the end, which nobody sees
}

// Capabilities implements [system.System].
func (r *recorder) Capabilities() system.Capabilities {
	inner := r.System.Capabilities()
	inner.Remembering = nil // outcomes are told apart by more
	return inner
}

// NewMachine implements [system.System].
func (r *recorder) NewMachine() system.Machine {
	return &recording{Machine: r.System.NewMachine(), r: r}
}

type recording struct {
	system.Machine
	r        *recorder
	accesses []system.Access
}

// Capabilities implements [system.Machine].
func (m *recording) Capabilities() system.MachineCapabilities {
	inner := m.Machine.Capabilities()
	inner.Shaped, inner.Changing, inner.Repeating = nil, nil, nil // steps do more
	return inner
}

// Step implements [system.Machine].
func (m *recording) Step(t int, alt uint64) system.Outcome {
	out := m.Machine.Step(t, alt)
	m.accesses = append(m.accesses[:0], m.Machine.Accesses()...)
	if out.Kind == system.Moved {
		for v := out.Violation; v != nil; v = v.Also {
			if v.Kind != machine.Raced {
				m.r.note(gotable.NewOutcome(m.Machine.(*machine.Machine).Output(), ending(v)))
			}
		}
		m.look()
	}
	return out
}

// Accesses implements [system.Machine]: those of the last step, and not of the
// steps that look whether somebody can run.
func (m *recording) Accesses() []system.Access { return m.accesses }

func (m *recording) look() {
	mark := m.Mark()
	if m.r.test && m.Machine.Step(0, 0).Kind == system.Ended {
		m.r.note(outcomes(m.Machine.(*machine.Machine))...)
		return
	}
	m.Rewind(mark)
	for t := range m.NumThreads() {
		if m.Machine.Step(t, 0).Kind == system.Moved {
			m.Rewind(mark)
			return
		}
	}
	m.r.note(outcomes(m.Machine.(*machine.Machine))...)
}

func (r *recorder) note(os ...gotable.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range os {
		r.found[o] = true
	}
}
