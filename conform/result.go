package conform

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cpor/detect/computation"
	"cpor/system"
	"cpor/trace"
)

// Expected is an event that comes next in the log.
type Expected struct {
	Event computation.Event
	Text  string
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

// Place is how far a log could be followed, and what comes there.
type Place struct {
	// Followed are the events of the longest prefix of the log that the search could follow, Cut
	// the prefix: how many events of each host, as in [computation.Cut].
	Followed int
	Cut      computation.Cut
	// Hosts are the names of the threads that play each host there; "" if none has yet.
	Hosts []string
	// Next are the events that come next in the log, and Offers what the model can do there: only
	// if the log is rejected.
	Next   []Expected
	Offers []Offer
}

// result describes how the search ended.
func (s *search) result() *Result {
	r := &Result{Verdict: Rejected, Why: s.why, Events: int(s.log.total), Nodes: len(s.seen),
		Unmapped: s.unmapped, FirstUnmapped: s.first}
	switch {
	case s.best.taken == s.log.total:
		r.Verdict, r.Why = Accepted, ""
	case s.why != "":
		r.Verdict = Incomplete
	}
	s.follow(r)
	r.Place = s.place()
	if r.Verdict == Rejected {
		r.Offers = s.offered()
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
	cut := make([]int32, len(s.log.hosts))
	s.observe(r)
	for i, p := range at {
		r.Trace.Steps = append(r.Trace.Steps, p.step)
		r.violated(s.execute(p.step).Violation)
		s.observe(r)
		for _, h := range p.hosts {
			r.At = append(r.At, Match{computation.Event{Process: int(h),
				Index: s.log.hosts[h].at(cut[h]).Index}, i})
			cut[h]++
		}
	}
	s.load(b.node)
}

// place describes the live node.
func (w *walker) place() Place {
	r := Place{Followed: int(w.taken), Cut: make(computation.Cut, len(w.cut)),
		Hosts: make([]string, len(w.cut))}
	for h, k := range w.cut {
		if k > 0 {
			r.Cut[h] = w.log.hosts[h].at(k - 1).Index
		}
	}
	for t := range w.m.NumThreads() {
		if h := w.plays(t); h >= 0 && !w.obs.Has(t) {
			r.Hosts[h] = strings.TrimPrefix(r.Hosts[h]+", "+w.m.ThreadName(t), ", ")
		}
	}
	for h := range w.cut {
		e := w.next(int32(h))
		if e == nil {
			continue
		}
		x := Expected{Event: computation.Event{Process: h, Index: e.Index}, Text: e.Text}
		for g := range w.cut {
			if g != h && w.lacks(e, int32(g)) {
				x.After = append(x.After, w.last(e, g))
			}
		}
		r.Next = append(r.Next, x)
	}
	// What can come now is before what must wait.
	slices.SortStableFunc(r.Next, func(a, b Expected) int { return len(a.After) - len(b.After) })
	return r
}

// last returns the last mapped event of host g that an event depends on.
func (w *walker) last(e *event, g int) computation.Event {
	l := &w.log.hosts[g]
	return computation.Event{Process: g, Index: l.at(l.before(e.Clock[g]) - 1).Index}
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

// offered returns what the threads can do behind the live node, silent steps included.
func (w *walker) offered() []Offer {
	seen, seeds := map[key]bool{}, newSeeds()
	found := map[Offer]bool{}
	var queue []system.State
	visit := func() {
		if k := w.key(&seeds); !seen[k] {
			seen[k] = true
			queue = append(queue, slices.Clone(w.words))
		}
	}
	for visit(); len(queue) > 0 && len(seen) < nearNodes; {
		w.m.Load(queue[0])
		queue = queue[1:]
		for t := range w.m.NumThreads() {
			if !w.obs.Has(t) {
				w.offers(t, found, visit)
			}
		}
	}
	var out []Offer
	for o := range found {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Offer) int { return strings.Compare(a.key(), b.key()) })
	return out[:min(len(out), maxOffers)]
}

// key orders offers: those of hosts first, deeds before waiting.
func (o *Offer) key() string {
	return fmt.Sprint(o.Host == "", o.Does == "", o.Host, o.Thread, o.Does, o.Pos, o.Why)
}

// offers adds what thread t can do, and visits the states behind silent steps.
func (w *walker) offers(t int, found map[Offer]bool, visit func()) {
	pos, text, _ := w.m.Next(t)
	offer := func(t int, does, why string) {
		o := Offer{Thread: w.m.ThreadName(t), Pos: pos, Text: text, Does: does, Why: why}
		h := w.plays(t)
		if h >= 0 {
			o.Host = w.log.names[h]
		}
		if h != nobody && len(found) < maxOffers {
			found[o] = true
		}
	}
	mark := w.m.Mark()
	for alt, more := uint64(0), true; more; {
		out := w.execute(trace.Step{Thread: t, Alt: alt})
		if out.Kind == system.Blocked {
			offer(t, "", w.waits(t, text))
		}
		if out.Kind != system.Moved {
			return
		}
		if out.Violation != nil {
			offer(t, "fail: "+trace.Headline(out.Violation), "then it has ended")
		}
		if d, why := w.parts(); d != nil {
			offer(d.thread, describe(d), why.Error())
		} else {
			visit()
		}
		w.m.Rewind(mark)
		alt, more = out.Next, out.Next != 0
	}
}

// waits says what thread t, whose last step was blocked, waits for: with the values that its
// guard has read, and those of the local variables in the guard.
func (w *walker) waits(t int, text string) string {
	var values []string
	add := func(name, value string) {
		if v := name + " = " + value; !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	for _, a := range w.m.Accesses() {
		if name := w.m.LocName(a.Loc); name != "" && !w.story.Internal(a.Loc) {
			add(name, w.m.ValueString(a.Loc))
		}
	}
	words := strings.FieldsFunc(text, func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	for _, l := range w.m.Locals(t) {
		if slices.Contains(words, base(l.Name)) {
			add(l.Name, l.Value)
		}
	}
	list := strings.Join(values, ", ")
	switch waits := w.story.Story().Waits; {
	case len(waits) > 0 && list != "":
		return "waits for " + strings.Join(waits, "; or ") + " (" + list + ")"
	case len(waits) > 0:
		return "waits for " + strings.Join(waits, "; or ")
	case list != "":
		return "waits while " + list
	}
	return "waits"
}

// parts returns the first deed of the last step with which the log does not continue, and why; nil
// if the step is silent.
func (w *walker) parts() (*deed, error) {
	var t taking
	defer func() { w.retreat(t) }()
	var last *deed
	for i := range w.deeds {
		d := &w.deeds[i]
		h := w.plays(d.thread)
		shown, ok := w.fits(d, h)
		if !ok {
			return d, w.misfit(d)
		}
		if shown {
			w.cut[h]++
			w.taken++
			t.hosts, last = append(t.hosts, h), d
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
func (w *walker) misfit(d *deed) error {
	h := w.plays(d.thread)
	switch {
	case h == unlogged:
		return errors.New("the log has no host for this thread")
	case h == undecided:
		return errors.New("no host that is still without a thread begins so")
	}
	e := w.next(h)
	if e == nil && !w.log.ended {
		return fmt.Errorf("no further event of %s has arrived", w.log.names[h])
	}
	if e == nil {
		return fmt.Errorf("the log of %s has ended", w.log.names[h])
	}
	err := w.matches(e, d)
	switch {
	case errors.Is(err, errOther):
		return fmt.Errorf("the log of %s has %q", w.log.names[h], e.Text)
	case err != nil:
		return err
	}
	for g := range w.cut {
		if int32(g) != h && w.lacks(e, int32(g)) {
			return fmt.Errorf("in the log it comes after event %d of %s", w.last(e, g).Index,
				w.log.names[g])
		}
	}
	return errors.New("the log has it here, and does not fit later")
}
