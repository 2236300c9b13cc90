package conform

import (
	"slices"

	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/trace"
)

// What a thread plays besides a host of the log.
const (
	undecided int32 = -1 - iota // nobody has said, so its first event decides
	nobody                      // no host: what it does is silent
	unlogged                    // a host that the log does not have
)

// roles knows which host a thread plays by its name.
type roles struct {
	mapping *Mapping
	log     *history
	byName  map[string]int32
	open    []int32 // the hosts that no rule names
	shared  []bool  // by host: several threads can play it
	same    bool    // there are no rules, and hosts are called as threads
}

// newRoles knows the roles of a system's threads; m is in an initial state.
func newRoles(mp *Mapping, log *history, m system.Machine) *roles {
	r := &roles{mapping: mp, log: log, byName: map[string]int32{},
		shared: make([]bool, len(log.names))}
	for t := range m.NumThreads() {
		if _, ok := log.index[m.ThreadName(t)]; ok && len(mp.Hosts) == 0 {
			r.same = true
			return r
		}
	}
hosts:
	for h, name := range log.names {
		for i := range mp.Hosts {
			if names, ok := mp.Hosts[i].Host.match(name, nil); ok {
				r.shared[h] = mp.Hosts[i].several(names)
				continue hosts
			}
		}
		r.open = append(r.open, int32(h))
	}
	return r
}

// several reports whether more than one thread can play a host whose name has these names.
func (r *HostRule) several(names binding) bool {
	_, filled := r.Threads[0].fill(names)
	return len(r.Threads) > 1 || !filled
}

// of returns the host that a thread of this name plays.
func (r *roles) of(thread string) int32 {
	h, ok := r.byName[thread]
	if !ok {
		h = r.find(thread)
		r.byName[thread] = h
	}
	return h
}

func (r *roles) find(thread string) int32 {
	if r.same {
		if h, ok := r.log.index[thread]; ok {
			return h
		}
		return unlogged
	}
	for i := range r.mapping.Hosts {
		rule := &r.mapping.Hosts[i]
		for _, p := range rule.Threads {
			b, ok := p.match(thread, nil)
			if !ok {
				continue
			}
			if host, ok := rule.Host.fill(b); ok {
				if h, ok := r.log.index[host]; ok {
					return h
				}
			}
			return unlogged
		}
	}
	if len(r.open) == 0 {
		return nobody
	}
	return undecided
}

// expand appends the moves of the present node: those of all threads, or, if single, those of one
// that stand for all (package comment). It begins with thread last.
func (w *walker) expand(moves []move, last int) (_ []move, single bool) {
	w.pending, w.partly = w.pending[:0], 0
	n := w.m.NumThreads()
	visible := 0
	for i := range n {
		t := (last + i) % n
		if w.obs.Has(t) {
			continue
		}
		from := len(moves)
		var p probe
		moves, p = w.probe(moves, t)
		if p.alone && len(moves) > from {
			return append(moves[:0], moves[from:]...), true
		}
		if p.alone && w.expects(t) {
			// It can never move again, and the log has more of its host.
			w.pending, w.partly = w.pending[:0], 0
			return moves[:0], false
		}
		if p.visible { // first: a log is followed rather than explored
			moved := slices.Clone(moves[from:])
			copy(moves[visible+len(moved):], moves[visible:from])
			copy(moves[visible:], moved)
			visible += len(moved)
		}
	}
	return moves, false
}

// expects reports whether the log has more events of a host that only thread t plays.
func (w *walker) expects(t int) bool {
	h := w.plays(t)
	return h >= 0 && !w.roles.shared[h] && w.next(h) != nil
}

// all appends the moves of all threads but one.
func (w *walker) all(moves []move, last, but int) ([]move, bool) {
	n := w.m.NumThreads()
	for i := range n {
		if t := (last + i) % n; t != but && !w.obs.Has(t) {
			moves, _ = w.probe(moves, t)
		}
	}
	return moves, false
}

// probe is what is known of a thread's next transition.
type probe struct {
	alone   bool  // its moves stand for all moves
	visible bool  // one of them shows an event
	partly  int32 // how many events one shows before one that has not arrived
}

// probe appends the moves of a thread that the log permits.
func (w *walker) probe(moves []move, t int) ([]move, probe) {
	p := probe{alone: w.futures != nil}
	mark := w.m.Mark()
	for alt, more := uint64(0), true; more; {
		step := trace.Step{Thread: t, Alt: alt}
		out := w.execute(step)
		if out.Kind != system.Moved {
			return moves, probe{}
		}
		if p.alone && (out.Created || out.Violation != nil || !w.independent(t)) {
			p.alone = false
		}
		moves = w.permitted(moves, move{Step: step}, 0, &p)
		w.m.Rewind(mark)
		alt, more = out.Next, out.Next != 0
	}
	w.partly += p.partly
	return moves, p
}

// permitted appends the moves that the step which was just executed can be, if its deeds from
// w.deeds[i] are still to be compared with the log; mv has the hosts of those before.
func (w *walker) permitted(moves []move, mv move, i int, p *probe) []move {
	if i == len(w.deeds) {
		return append(moves, mv)
	}
	d := &w.deeds[i]
	h := w.plays(d.thread)
	if h == undecided {
		p.alone, p.visible = false, true
		for _, h := range w.roles.open {
			if w.player[h] < 0 {
				w.player[h] = int32(d.thread)
				with := append(mv.hosts[:len(mv.hosts):len(mv.hosts)], h)
				moves = w.permitted(moves, move{mv.Step, with}, i, p)
				w.player[h] = -1
			}
		}
		return moves
	}
	if h >= 0 && (w.roles.shared[h] || d.thread != mv.Thread) {
		p.alone = false
	}
	shown, ok := w.fits(d, h)
	switch {
	case !ok:
		if h >= 0 && w.next(h) == nil && !w.log.ended {
			// One step of the thread may be in the log in part. Only its best is counted.
			p.partly = max(p.partly, w.showing)
		}
		if h < 0 || !p.alone {
			return moves
		}
		// It may fit once other hosts have advanced or the event has arrived, unless it never
		// will.
		if e := w.next(h); e != nil {
			p.alone = len(e.Values) == 0 && w.matches(e, d) != nil ||
				sabotage.Is("conform/pending")
		} else {
			p.alone = w.log.ended
		}
		return moves
	case !shown:
		return w.permitted(moves, mv, i+1, p)
	}
	p.visible = true
	p.alone = p.alone && len(w.next(h).Values) == 0
	w.cut[h]++
	w.showing++
	moves = w.permitted(moves, mv, i+1, p)
	w.showing--
	w.cut[h]--
	return moves
}

// independent reports whether the accesses of the last step conflict with nothing that another
// thread may ever do, and the log shows none of the variables.
func (w *walker) independent(t int) bool {
	for _, a := range w.m.Accesses() {
		if a.Write && w.shown(a.Loc) && !sabotage.Is("conform/shown") {
			return false
		}
		for u := range w.m.NumThreads() {
			if u == t || w.obs.Has(u) {
				continue
			}
			f := w.futures.Future(u)
			if f.MayWrite(a.Loc) && !sabotage.Is("conform/writes") ||
				a.Write && f.MayRead(a.Loc) && !sabotage.Is("conform/reads") {
				return false
			}
		}
	}
	return true
}

// shown reports whether the log shows the values of a location.
func (w *walker) shown(l system.Loc) bool {
	if len(w.mapping.Values) == 0 {
		return false
	}
	v, ok := w.shows[l]
	if !ok {
		v = w.mapping.shows(w.m.LocName(l))
		w.shows[l] = v
	}
	return v
}
