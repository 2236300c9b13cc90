package unfolding

import "cpor/trace"

// steps returns the events of the configuration as an execution, and last
// behind them if it is not nil: one thread continues as long as causality allows.
func (c *config) steps(last *leaf) []trace.Step {
	p := c.p
	es := c.events()
	// The events that one depends on, of those that are still to come.
	waits := map[uint32]int{}
	after := map[uint32][]uint32{}
	for _, e := range es {
		ev := p.events.at(e)
		c.stack = c.stack[:0]
		c.pushPre(ev, p.shape(p.leaf(ev.leaf)))
		for _, f := range c.stack {
			if !p.isRoot(f) {
				waits[e]++
				after[f] = append(after[f], e)
			}
		}
	}
	var steps []trace.Step
	ready := map[uint32]uint32{} // by thread
	var order []uint32
	add := func(e uint32) {
		t := p.thread(e)
		ready[t] = e
		order = append(order, t)
	}
	for _, e := range es {
		if waits[e] == 0 {
			add(e)
		}
	}
	for len(order) > 0 {
		t := order[0]
		order = order[1:]
		for {
			e, ok := ready[t]
			if !ok {
				break
			}
			delete(ready, t)
			l := p.leafOf(e)
			steps = append(steps, trace.Step{Thread: int(p.comp(t).number), Alt: p.extra(l).alt})
			for _, f := range after[e] {
				if waits[f]--; waits[f] == 0 {
					if u := p.thread(f); u == t {
						ready[t] = f
					} else {
						add(f)
					}
				}
			}
		}
	}
	if last != nil {
		steps = append(steps, trace.Step{Thread: int(p.comp(p.shape(last).thread()).number),
			Alt: p.extra(last).alt})
	}
	return steps
}
