package search

import (
	"context"
	"time"

	"cpor/system"
	"cpor/trace"
)

// Run searches the system sys with the expanders that newExpander makes.
//
// It ends when everything is covered, at the first violation (unless
// Options.All), at a limit of the options, or when ctx is cancelled, and
// returns what it found out so far in each of these cases. An error means that
// the tool itself went wrong; the result then is what it knew by then.
func Run(ctx context.Context, sys system.System, newExpander Factory, o Options) (*Result, error) {
	start := time.Now()
	d := &sequential{seen: map[string]bool{}, o: o}
	for _, s := range sys.Initial() {
		d.add(s)
	}
	x := newExpander()
	for len(d.work) > 0 && ctx.Err() == nil && (o.All || len(d.found) == 0) {
		s := d.work[0]
		d.work = d.work[1:]
		x.Expand(s, d)
	}
	r := &Result{Verdict: Pass, Exhaustive: len(d.work) == 0, Workers: 1, Counters: x.Counters(),
		States: uint64(len(d.seen)), Duration: time.Since(start), Violations: d.found}
	if len(d.found) > 0 {
		r.Verdict = Violated
	} else if !r.Exhaustive {
		r.Verdict, r.Reason = Incomplete, "interrupted"
	}
	return r, nil
}

type sequential struct {
	seen  map[string]bool
	work  []system.State
	found []Violation
	o     Options
}

func (d *sequential) add(s system.State) {
	k := make([]byte, 0, 8*len(s))
	for _, w := range s {
		for i := 0; i < 64; i += 8 {
			k = append(k, byte(w>>i))
		}
	}
	if !d.seen[string(k)] {
		d.seen[string(k)] = true
		d.work = append(d.work, append(system.State(nil), s...))
	}
}

func (d *sequential) Move(m *Move) {
	if !m.Infinite {
		d.add(m.End)
	}
}

func (d *sequential) Violation(v *system.Violation, tail []Step) {
	if v.Kind != system.Deadlock || !d.o.IgnoreDeadlocks {
		c := *v
		d.found = append(d.found, Violation{Violation: &c, Trace: &trace.Trace{Violation: &c}})
	}
}
