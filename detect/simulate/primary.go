package simulate

import (
	"cpor/detect/computation"
)

// PrimarySecondary simulates the paper's second example for n >= 3 processes
// and at most s local states of a process.
//
// Initially process 1 is the primary and process 2 the secondary. The primary
// chooses a successor by informing the secondary, waiting for its
// acknowledgement, multicasting a request for volunteers to the other processes,
// and telling the first whose reply arrives that it is the new primary. The new
// primary tells the secondary, which updates its state and tells the old
// primary, which stops being the primary. The secondary chooses its successor
// with the roles exchanged; if, instead of the acknowledgement, it receives the
// message that the primary is searching, it gives up, waits for the message of
// the new primary and starts again.
//
// What the paper leaves open: each starts to look for a successor a delay after
// it got into its role, or after the other one's successor told it so. The
// primary acknowledges unless it is searching itself, and then does not search
// until the new secondary has told it that it is there. A process that still is
// the primary or the secondary volunteers only when it has stopped. Messages
// between two processes arrive in order. A multicast is one event, and so is a
// receipt with its answer.
func PrimarySecondary(n, s int, seed uint64) *computation.Computation {
	p := &primarySecondary{network: newNetwork(n, s, seed), procs: make([]roles, n),
		names: Names("p", n)}
	p.procs[0].isPrimary, p.procs[0].secondary = true, 1
	p.procs[1].isSecondary = true
	for i := range p.procs {
		x := &p.procs[i]
		p.rec.Init(i, Assign{"isPrimary", computation.BoolValue(x.isPrimary)},
			Assign{"isSecondary", computation.BoolValue(x.isSecondary)},
			Assign{"primary", p.host(x.primary)}, Assign{"secondary", p.host(x.secondary)})
	}
	p.wait(0, true)
	p.wait(1, false)
	p.run()
	return p.rec.Computation()
}

type primarySecondary struct {
	*network
	procs []roles
	names []string
}

// roles is the state of a process.
type roles struct {
	isPrimary, isSecondary bool
	primary, secondary     int
	searching              bool  // has told the other one so
	yielded                bool  // lets the other one search
	chosen                 bool  // has a volunteer
	epoch                  int   // timers and answers of an earlier search are void
	asked                  []ask // requests for volunteers that wait until it has stopped
}

// ask is a request for volunteers by process i for its own role.
type ask struct {
	i       int
	primary bool
	epoch   int
}

func (p *primarySecondary) host(i int) computation.Value {
	return computation.StringValue(
		p.names[i])
}

// other returns the secondary of a primary and the primary of a secondary.
func (p *primarySecondary) other(i int, primary bool) int {
	if primary {
		return p.procs[i].secondary
	}
	return p.procs[i].primary
}

func role(primary bool) string {
	if primary {
		return "primary"
	}
	return "secondary"
}

// is returns the assignment to isPrimary or isSecondary.
func (p *primarySecondary) is(j int, primary, value bool) Assign {
	if primary {
		p.procs[j].isPrimary = value
		return Assign{"isPrimary", computation.BoolValue(value)}
	}
	p.procs[j].isSecondary = value
	return Assign{"isSecondary", computation.BoolValue(value)}
}

// knows returns the assignment to primary or secondary: process j learns who
// has that role.
func (p *primarySecondary) knows(j int, primary bool, who int) Assign {
	if primary {
		p.procs[j].primary = who
		return Assign{"primary", p.host(who)}
	}
	p.procs[j].secondary = who
	return Assign{"secondary", p.host(who)}
}

// wait makes process i, in its role, look for a successor after a delay.
func (p *primarySecondary) wait(i int, primary bool) {
	p.procs[i].epoch++
	epoch := p.procs[i].epoch
	p.after(func() {
		if x := &p.procs[i]; x.epoch == epoch && !x.yielded {
			p.search(i, primary)
		}
	})
}

// search begins a search with the announcement to the other one.
func (p *primarySecondary) search(i int, primary bool) {
	x := &p.procs[i]
	x.searching, x.chosen = true, false
	epoch := x.epoch
	goAhead := func(_ int, m Message) {
		if x.epoch != epoch || !x.searching {
			p.receive(i, m, "go ahead, too late", nil)
			return
		}
		p.receive(i, m, "go ahead, ask for volunteers", send(func(j int, m Message) {
			p.request(j, m, ask{i, primary, epoch})
		},
			others(p.rec.n, i, p.other(i, primary))...))
	}
	p.event(i, "search", send(func(other int, m Message) {
		o := &p.procs[other]
		if o.searching && !primary {
			p.receive(other, m, "the secondary searches, but so do I", nil)
			return
		}
		o.searching, o.yielded = false, true // a secondary gives up
		o.epoch++
		p.receive(other, m, "the "+role(primary)+" searches", send(goAhead, i))
	}, p.other(i, primary)))
}

// request is the receipt of a request for volunteers by process j.
func (p *primarySecondary) request(j int, m Message, a ask) {
	x := &p.procs[j]
	if x.isPrimary || x.isSecondary {
		x.asked = append(x.asked, a)
		p.receive(j, m, "asked, but still busy", nil)
		return
	}
	p.receive(j, m, "asked, volunteer", p.volunteer(j, a))
}

func (p *primarySecondary) volunteer(j int, a ask) []message {
	return send(func(i int, m Message) {
		x := &p.procs[i]
		if x.epoch != a.epoch || x.chosen {
			p.receive(i, m, "volunteer "+p.names[j]+", too late", nil)
			return
		}
		x.chosen = true
		other := p.other(i, a.primary)
		p.receive(i, m, "choose "+p.names[j], send(func(j int, m Message) {
			p.become(j, m, i, other, a.primary)
		}, j))
	}, a.i)
}

// become is the receipt of the message that process j has the role now, after i.
func (p *primarySecondary) become(j int, m Message, i, other int, primary bool) {
	x := &p.procs[j]
	x.searching, x.yielded, x.chosen = false, false, false
	p.receive(j, m, "become "+role(primary), send(func(other int, m Message) {
		p.procs[other].yielded = false
		p.receive(other, m, "new "+role(primary), send(func(i int, m Message) {
			p.stop(i, m, primary)
		}, i), p.knows(other, primary, j))
		p.wait(other, !primary)
	}, other), p.is(j, primary, true), p.knows(j, !primary, other))
	p.wait(j, primary)
}

// stop is the receipt of the message that process i is free.
func (p *primarySecondary) stop(i int, m Message, primary bool) {
	x := &p.procs[i]
	x.searching, x.chosen = false, false
	x.epoch++ // volunteers that answer now come too late
	var sends []message
	for _, a := range x.asked {
		sends = append(sends, p.volunteer(i, a)...)
	}
	x.asked = nil
	p.receive(i, m, "stop", sends, p.is(i, primary, false))
}

// NotIpr is the negation of the invariant I_pr of the paper's formula (7), for
// computations of PrimarySecondary: no two processes are each other's primary
// and secondary.
const NotIpr = "!(exists i != j: i.isPrimary && j.isSecondary && i.secondary == j && j.primary " +
	"== i)"
