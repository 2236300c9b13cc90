package machine

import (
	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// Lost appends the goroutines that can never continue, although others may continue forever:
// none of those that can continue reaches what they wait for (Saioc, Lange, Møller, "Dynamic
// partial deadlock detection and recovery via garbage collection", ASPLOS 2025). A waiting
// goroutine reaches nothing for others as long as nothing reaches what it waits for, all
// goroutines reach global variables, and timers can always continue. Goroutines of initializers
// may wait forever.
func (m *Machine) Lost(ts []int) []int {
	if m.exited {
		return ts
	}
	type waiter struct {
		g  *goroutine
		on []uint64
	}
	var waiting []waiter
	r := reach{m: m, seen: map[uint32]bool{}}
	for id := range m.p.Globals {
		r.add(uint64(id+1) << 32)
	}
	for _, g := range m.gors {
		if g.status != alive {
			continue
		}
		if on, ok := m.waitsOn(g); ok {
			waiting = append(waiting, waiter{g, on})
			continue
		}
		if g.panics != nil { // what it panics with is not looked at
			return ts
		}
		r.goroutine(g)
	}
	for {
		r.close()
		rest := waiting[:0]
		for _, w := range waiting {
			reached := false
			for _, p := range w.on {
				reached = reached || r.seen[uint32(p>>32)]
			}
			if !reached {
				rest = append(rest, w)
				continue
			}
			if w.g.panics != nil {
				return ts
			}
			r.goroutine(w.g)
		}
		if len(rest) == len(waiting) {
			break
		}
		waiting = rest
	}
	for _, w := range waiting {
		if !w.g.behind && !w.g.daemon && (!m.sys.noLeaks || w.g.number == 0) {
			ts = append(ts, int(w.g.number))
		}
	}
	return ts
}

// waitsOn returns the objects of which one must be used by another goroutine before g can
// continue; ok is false if it can already continue, or if that is unknown.
func (m *Machine) waitsOn(g *goroutine) (on []uint64, ok bool) {
	i := g.pending()
	if g.daemon || g.unstarted || g.delivered || i == nil || !i.Op.Synchronises() {
		return nil, false
	}
	r := g.regs()
	switch i.Op {
	case compile.Send:
		on = append(on, r[i.A])
	case compile.Recv:
		on = append(on, r[i.B])
	case compile.SelectOp:
		for _, c := range g.top().fn.Selects[i.N].Cases {
			on = append(on, r[c.Chan])
		}
	case compile.Sync:
		switch natives[i.N].name {
		case "(*sync.Mutex).Lock", "(*sync.RWMutex).RLock", "sync.rwAnnounce", "sync.rwLock",
			"sync.condWait", "(*sync.WaitGroup).Wait", "internal/cpor.WaitBits":
			on = append(on, r[0])
		default:
			return nil, false
		}
	default:
		return nil, false
	}
	report := m.report
	m.report = nil
	mark := m.Mark()
	out := m.Step(int(g.number), 0)
	m.Rewind(mark)
	m.report = report
	return on, out.Kind == system.Blocked
}

// reach collects the reachable objects.
type reach struct {
	m    *Machine
	seen map[uint32]bool
	list []uint32
}

func (r *reach) add(w uint64) {
	if k := uint32(w >> 32); k != 0 && !r.seen[k] {
		r.seen[k] = true
		r.list = append(r.list, k)
	}
}

// goroutine adds what a goroutine's registers lead to.
func (r *reach) goroutine(x *goroutine) {
	for i := range x.frames {
		regs := x.stack[x.frames[i].base:]
		for _, s := range liveIn(x, i) {
			r.m.refsOf(s.Type, regs[s.Reg:int(s.Reg)+s.Type.Size], r.add)
		}
		if at := x.frames[i].fn.Defers; at >= 0 {
			r.add(regs[at])
		}
	}
}

// close adds what the objects lead to.
func (r *reach) close() {
	for len(r.list) > 0 {
		k := r.list[len(r.list)-1]
		r.list = r.list[:len(r.list)-1]
		r.m.references(k, r.add)
	}
}
