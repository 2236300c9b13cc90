package conform

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpor/detect/computation"
	"cpor/system"
	"cpor/trace"
)

// Expected is an event that comes next in the log.
type Expected struct {
	Event computation.Event
	// After are the events that it depends on and that the prefix lacks.
	After []computation.Event
}

// Offer is something that a thread of the model does, or waits for, behind the longest prefix.
type Offer struct {
	Thread string
	Host   string // that it plays; "" for none
	Pos    system.Pos
	Text   string // of the statement
	Does   string // the visible deed; "" if the thread is blocked
	// Why says why the log does not continue with it, or what a blocked thread waits for.
	Why string
}

// result describes how the search ended.
func (s *search) result() *Result {
	r := &Result{Verdict: Rejected, Why: s.why, Events: s.total, Nodes: len(s.seen),
		Followed: s.best.taken, Steps: s.steps}
	for h := range s.hosts {
		r.Unmapped += int(s.c.Events(h)) - len(s.hosts[h])
	}
	switch {
	case s.best.taken == s.total:
		r.Verdict, r.Why = Accepted, ""
	case s.why != "":
		r.Verdict = Incomplete
	}
	s.follow(r)
	if r.Verdict == Rejected {
		s.explain(r)
	}
	r.Steps = s.steps
	return r
}

// follow makes the trace of the best node, and leaves it as the live state.
func (s *search) follow(r *Result) {
	b := s.best
	r.Trace = &trace.Trace{Initial: b.initial}
	var at []*path
	for p := b.path; p != nil; p = p.before {
		at = append(at, p)
	}
	slices.Reverse(at)
	s.m.Load(s.sys.Initial()[b.initial])
	cut := make([]int32, len(s.hosts))
	s.observe(r)
	for i, p := range at {
		r.Trace.Steps = append(r.Trace.Steps, p.step)
		r.violated(s.execute(p.step).Violation)
		s.observe(r)
		for _, h := range p.hosts {
			r.At = append(r.At, Match{computation.Event{Process: int(h),
				Index: s.hosts[h][cut[h]].index}, i})
			cut[h]++
		}
	}
	s.cut, s.player = b.cut, b.player
	r.Cut = s.c.Initial()
	for h, k := range b.cut {
		if k > 0 {
			r.Cut[h] = s.hosts[h][k-1].index
		}
		r.Hosts = append(r.Hosts, "")
	}
	for t := range s.m.NumThreads() {
		if h := s.plays(t); h >= 0 && !s.obs.Has(t) {
			r.Hosts[h] = strings.TrimPrefix(r.Hosts[h]+", "+s.m.ThreadName(t), ", ")
		}
	}
	for h, events := range s.hosts {
		if int(s.cut[h]) == len(events) {
			continue
		}
		e := &events[s.cut[h]]
		x := Expected{Event: computation.Event{Process: h, Index: e.index}}
		for g, n := range e.needs {
			if s.cut[g] < n {
				x.After = append(x.After, computation.Event{Process: g,
					Index: s.hosts[g][n-1].index})
			}
		}
		r.Next = append(r.Next, x)
	}
	// What can come now is before what must wait.
	slices.SortStableFunc(r.Next, func(a, b Expected) int { return len(a.After) - len(b.After) })
}

// violated notes violations of the last step of the trace, each once.
func (r *Result) violated(v *system.Violation) {
	for ; v != nil; v = v.Also {
		same := func(x Violated) bool { return x.Violation.Same(v) }
		if !slices.ContainsFunc(r.Violations, same) {
			r.Violations = append(r.Violations, Violated{len(r.Trace.Steps), v})
		}
	}
}

// observe notes what the observers find in the live state.
func (s *search) observe(r *Result) {
	for t := range s.m.NumThreads() {
		if s.obs.Has(t) {
			mark := s.m.Mark()
			r.violated(s.m.Step(t, 0).Violation)
			s.m.Rewind(mark)
		}
	}
}

// The bounds of what is looked at, and shown, behind the longest prefix.
const (
	nearNodes = 2000
	maxOffers = 30
)

// explain collects what the threads can do behind the longest prefix, silent steps included.
func (s *search) explain(r *Result) {
	clear(s.seen)
	found := map[Offer]bool{}
	var queue []system.State
	visit := func() {
		if s.words = s.m.Encode(s.words); s.add(0) {
			queue = append(queue, slices.Clone(s.words))
		}
	}
	for visit(); len(queue) > 0 && len(s.seen) < nearNodes; {
		s.m.Load(queue[0])
		queue = queue[1:]
		for t := range s.m.NumThreads() {
			if !s.obs.Has(t) {
				s.offers(t, found, visit)
			}
		}
	}
	for o := range found {
		r.Offers = append(r.Offers, o)
	}
	slices.SortFunc(r.Offers, func(a, b Offer) int {
		return strings.Compare(a.key(), b.key())
	})
	r.Offers = r.Offers[:min(len(r.Offers), maxOffers)]
}

// key orders offers: those of hosts first, deeds before waiting.
func (o *Offer) key() string {
	return fmt.Sprint(o.Host == "", o.Does == "", o.Host, o.Thread, o.Does, o.Pos, o.Why)
}

// offers adds what thread t can do, and visits the states behind silent steps.
func (s *search) offers(t int, found map[Offer]bool, visit func()) {
	pos, text, _ := s.m.Next(t)
	offer := func(t int, does, why string) {
		o := Offer{Thread: s.m.ThreadName(t), Pos: pos, Text: text, Does: does, Why: why}
		h := s.plays(t)
		if h >= 0 {
			o.Host = s.c.Name(int(h))
		}
		if h != nobody && len(found) < maxOffers {
			found[o] = true
		}
	}
	mark := s.m.Mark()
	for alt, more := uint64(0), true; more; {
		out := s.execute(trace.Step{Thread: t, Alt: alt})
		if out.Kind == system.Blocked {
			offer(t, "", strings.TrimSuffix("waits for "+
				strings.Join(s.story.Story().Waits, ", "), " for "))
		}
		if out.Kind != system.Moved {
			return
		}
		if out.Violation != nil {
			offer(t, "fail: "+trace.Headline(out.Violation), "then it has ended")
		}
		if d, why := s.parts(); d != nil {
			offer(d.thread, describe(d), why.Error())
		} else {
			visit()
		}
		s.m.Rewind(mark)
		alt, more = out.Next, out.Next != 0
	}
}

// parts returns the first deed of the last step with which the log does not continue, and why; nil
// if the step is silent.
func (s *search) parts() (*deed, error) {
	var taken []int32
	defer func() { s.retreat(taken, nil) }()
	var last *deed
	for i := range s.deeds {
		d := &s.deeds[i]
		h := s.plays(d.thread)
		shown, ok := s.fits(d, h)
		if !ok {
			return d, s.misfit(d)
		}
		if shown {
			s.cut[h]++
			s.taken++
			taken, last = append(taken, h), d
		}
	}
	return last, errors.New("the log has it here, and does not fit later")
}

// describe says what a deed is.
func describe(d *deed) string {
	v := strings.TrimSpace(d.Value)
	switch d.Kind {
	case system.Send:
		return fmt.Sprintf("send %s to %s", v, d.Channel)
	case system.Receive:
		return fmt.Sprintf("receive %s from %s", v, d.Channel)
	}
	return fmt.Sprintf("print %q", v)
}

// misfit says why the log does not continue with a deed.
func (s *search) misfit(d *deed) error {
	h := s.plays(d.thread)
	switch {
	case h == unlogged:
		return errors.New("the log has no host for this thread")
	case h == undecided:
		return errors.New("no host that is still without a thread begins so")
	case int(s.cut[h]) == len(s.hosts[h]):
		return fmt.Errorf("the log of %s has ended", s.c.Name(int(h)))
	}
	e := &s.hosts[h][s.cut[h]]
	err := e.matches(s.m, d)
	switch {
	case errors.Is(err, errOther):
		return fmt.Errorf("the log of %s has %q", s.c.Name(int(h)), e.text)
	case err != nil:
		return err
	}
	for g, n := range e.needs {
		if s.cut[g] < n {
			return fmt.Errorf("in the log it comes after event %d of %s", s.hosts[g][n-1].index,
				s.c.Name(g))
		}
	}
	return errors.New("the log has it here, and does not fit later")
}
