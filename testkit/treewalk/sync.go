package treewalk

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
)

// object evaluates what names a lock, as far as accesses go.
func (r *run) object(k known, e syntax.Expr, all bool) {
	switch {
	case r.typeOf(e).Kind != resolve.Pointer:
		r.parts(k, e, all)
	case all:
		k[e] = r.eval(e)
		r.hold(k[e])
	default:
		r.operand(k, e)
	}
}

// lockName returns the name of the lock.
func (r *run) lockName(k known, e syntax.Expr) string {
	if r.typeOf(e).Kind == resolve.Pointer {
		return r.follow(k, e)
	}
	return r.address(e, k)
}

func (r *run) lockOp(op string, e *syntax.CallExpr) {
	k := known{}
	r.object(k, e.Args[0], false)
	if op == "add" {
		r.operand(k, e.Args[1])
	}
	if len(e.Args) == 2 && op == "wait" {
		r.condWait(k, e)
		return
	}
	r.point(e, 0)
	name := r.lockName(k, e.Args[0])
	self := r.self + 1
	kind := r.typeOf(e.Args[0])
	if kind.Kind == resolve.Pointer {
		kind = kind.Elem
	}
	switch kind.Kind {
	case resolve.RWMutex:
		r.world(func() any {
			m := r.s.shared[name].(rwmutex)
			switch {
			case op == "lock" && m == rwmutex{}:
				m.writer = self
			case op == "rlock" && m.writer == 0 && m.readers < 1023:
				m.readers++
			case op == "lock", op == "rlock" && m.writer != 0:
				panic(blocked{})
			case op == "unlock" && m.writer == self:
				m.writer = 0
			case op == "runlock" && m.readers > 0:
				m.readers--
			default:
				r.fault(e)
			}
			r.s.shared[name] = m
			return nil
		})
		return
	case resolve.WaitGroup:
		n := big.NewInt(-1)
		if op == "add" {
			n = r.use(k, e.Args[1]).(*big.Int)
		}
		r.world(func() any {
			g := r.s.shared[name].(group)
			if op == "wait" {
				if g != 0 {
					panic(blocked{})
				}
				return nil
			}
			sum := new(big.Int).Add(n, big.NewInt(int64(g)))
			if sum.Sign() < 0 || sum.Cmp(big.NewInt(65535)) > 0 {
				r.fault(e)
			}
			r.s.shared[name] = group(sum.Int64())
			return nil
		})
		return
	}
	switch op {
	case "signal", "broadcast":
		all := waiting(string(r.world(func() any { return r.s.shared[name] }).(condition)))
		if len(all) == 0 {
			return
		}
		rest := ""
		if op == "signal" {
			woken := r.choose(len(all))
			for i, w := range all {
				if i != woken {
					rest += "," + w
				}
			}
		}
		r.world(func() any {
			r.s.shared[name] = condition(rest)
			return nil
		})
	case "lock":
		if r.read(name).(mutex) != 0 {
			panic(blocked{})
		}
		r.write(name, mutex(self))
	case "unlock":
		if r.read(name).(mutex) != mutex(self) {
			r.fault(e)
		}
		r.write(name, mutex(0))
	case "up":
		r.world(func() any {
			r.s.shared[name] = r.s.shared[name].(semaphore) + 1
			return nil
		})
	case "down":
		r.world(func() any {
			n := r.s.shared[name].(semaphore)
			if n == 0 {
				panic(blocked{})
			}
			r.s.shared[name] = n - 1
			return nil
		})
	case "notify", "notifyAll":
		list := r.world(func() any {
			m := r.s.shared[name].(monitor)
			if m.owner != self {
				r.fault(e)
			}
			return m.waiting
		}).(string)
		all := waiting(list)
		if len(all) == 0 {
			return
		}
		rest := ""
		if op == "notify" {
			woken := r.choose(len(all))
			for i, w := range all {
				if i != woken {
					rest += "," + w
				}
			}
		}
		r.world(func() any {
			m := r.s.shared[name].(monitor)
			m.waiting = rest
			r.s.shared[name] = m
			return nil
		})
	case "wait":
		depth := r.world(func() any {
			m := r.s.shared[name].(monitor)
			if m.owner != self {
				r.fault(e)
			}
			r.s.shared[name] = monitor{waiting: withWaiting(m.waiting, r.self)}
			return m.depth
		}).(int)
		r.hold(depth)
		r.point(e, 1)
		name := r.lockName(k, e.Args[0])
		r.world(func() any {
			m := r.s.shared[name].(monitor)
			if m.owner != 0 || strings.Contains(m.waiting+",", fmt.Sprintf(",%d,", r.self)) {
				panic(blocked{})
			}
			m.owner, m.depth = self, depth
			r.s.shared[name] = m
			return nil
		})
	}
}

// waiting splits a list of threads that wait.
func waiting(list string) []string { return strings.Split(list, ",")[1:] }

// withWaiting adds a thread to such a list.
func withWaiting(list string, self int) string {
	who := []int{self}
	for _, w := range waiting(list) {
		var n int
		fmt.Sscan(w, &n)
		who = append(who, n)
	}
	slices.Sort(who)
	text := ""
	for _, n := range who {
		text += fmt.Sprint(",", n)
	}
	return text
}

// condWait executes wait(c, m): m is given up, and had again once signaled.
func (r *run) condWait(k known, e *syntax.CallExpr) {
	r.object(k, e.Args[1], false)
	r.point(e, 0)
	c := r.lockName(k, e.Args[0])
	r.world(func() any {
		r.s.shared[c] = condition(withWaiting(string(r.s.shared[c].(condition)), r.self))
		return nil
	})
	m := r.lockName(k, e.Args[1])
	if r.read(m).(mutex) != mutex(r.self+1) {
		r.fault(e)
	}
	r.write(m, mutex(0))
	r.point(e, 1)
	c = r.lockName(k, e.Args[0])
	if r.world(func() any {
		return strings.Contains(string(r.s.shared[c].(condition))+",", fmt.Sprintf(",%d,", r.self))
	}).(bool) {
		panic(blocked{})
	}
	m = r.lockName(k, e.Args[1])
	if r.read(m).(mutex) != 0 {
		panic(blocked{})
	}
	r.write(m, mutex(r.self+1))
}

// syncStmt executes synchronized (m) { }: the monitor is left on every way out.
func (r *run) syncStmt(s *syntax.SyncStmt) control {
	k := known{}
	r.object(k, s.Monitor, true)
	r.point(s, 0)
	name := r.lockName(k, s.Monitor)
	self := r.self + 1
	r.world(func() any {
		m := r.s.shared[name].(monitor)
		if m.owner != 0 && m.owner != self {
			panic(blocked{})
		}
		m.owner = self
		m.depth++
		r.s.shared[name] = m
		return nil
	})
	c := r.block(s.Body.Stmts)
	r.hold(aggregate(c.results))
	r.held = append(r.held, fmt.Sprint(c.jump, c.label, c.from))
	r.point(s, 1)
	name = r.lockName(k, s.Monitor)
	r.world(func() any {
		m := r.s.shared[name].(monitor)
		if m.owner != self {
			r.fault(s.Monitor)
		}
		if m.depth--; m.depth == 0 {
			m.owner = 0
		}
		r.s.shared[name] = m
		return nil
	})
	return c
}

// offer is a case of a select, or a send or receive alone.
type offer struct {
	guard   bool  // no channel: it can be taken if open
	open    bool  //
	send    bool  // else it receives
	channel Value // a reference
	value   Value // to send
	elem    *resolve.Type
	at      syntax.Node // where a send on a closed channel is reported
	// Of a receive: what the message must be (nil: anything), and whether it stays.
	source, pattern syntax.Expr
	wanted          Value
	keep            bool
}

// anything is a pattern of which every value is one.
type anything struct{}

// looking evaluates the operands of a receive or poll that are not purely local; look
// evaluates the others.
func (r *run) looking(k known, e syntax.Expr) *offer {
	o := &offer{source: syntax.Unparen(e)}
	for {
		call, ok := o.source.(*syntax.CallExpr)
		if !ok || r.p.r.Calls[call] != resolve.CallBuiltin {
			break
		}
		if r.builtin(call) == "peek" {
			o.keep = true
		} else {
			o.pattern = call.Args[1]
		}
		o.source = syntax.Unparen(call.Args[0])
	}
	r.operand(k, o.source)
	if o.pattern != nil {
		r.wanted(o.pattern, r.typeOf(o.source).Elem, func(e syntax.Expr) Value {
			r.operand(k, e)
			return nil
		})
	}
	return o
}

func (r *run) look(k known, o *offer) {
	o.channel, o.elem = r.use(k, o.source), r.typeOf(o.source).Elem
	o.wanted = anything{}
	if o.pattern != nil {
		o.wanted = r.wanted(o.pattern, o.elem, func(e syntax.Expr) Value { return r.use(k, e) })
	}
}

// wanted makes a value of a pattern, whose parts value returns.
func (r *run) wanted(e syntax.Expr, t *resolve.Type, value func(syntax.Expr) Value) Value {
	e = syntax.Unparen(e)
	switch e := e.(type) {
	case *syntax.Ident:
		if e.Name == "_" {
			return anything{}
		}
	case *syntax.CompositeLit:
		a := make(aggregate, len(t.Fields))
		for i := range a {
			a[i] = anything{}
		}
		r.p.elements(e, t, func(i int, v syntax.Expr) {
			a[i] = r.wanted(v, t.Fields[i].Type, value)
		})
		return a
	}
	return value(e)
}

// fits reports whether a message is as wanted.
func fits(v, wanted Value) bool {
	if _, ok := wanted.(anything); ok || wanted == nil {
		return true
	}
	if w, ok := wanted.(aggregate); ok {
		for i := range w {
			if !fits(v.(aggregate)[i], w[i]) {
				return false
			}
		}
		return true
	}
	return Text(v) == Text(wanted)
}

// messages returns the places of the messages that a receive from a buffer can take.
func (r *run) messages(o *offer) []int {
	if o.channel == reference("") {
		return nil
	}
	c := r.channel(o.channel)
	var places []int
	for i, v := range c.buffer {
		if fits(v, o.wanted) && !(c.bag && i > 0 && Text(v) == Text(c.buffer[i-1])) {
			places = append(places, i)
		}
	}
	if !c.bag && len(places) > 1 {
		return places[:1]
	}
	return places
}

// compare orders messages: numbers by size, false before true, and what is shared in
// the order of the declarations.
func (r *run) compare(v, w Value) int {
	named := func(name string) int {
		return slices.IndexFunc(r.p.names, func(n string) bool {
			return n == name || strings.HasPrefix(n, name+".") || strings.HasPrefix(n, name+"[")
		})
	}
	switch v := v.(type) {
	case *big.Int:
		return v.Cmp(w.(*big.Int))
	case ident:
		return v.n - w.(ident).n
	case bool:
		return strings.Compare(fmt.Sprint(v), fmt.Sprint(w))
	case pointer:
		return named(string(v)) - named(string(w.(pointer)))
	case reference:
		return named(string(v)) - named(string(w.(reference)))
	case aggregate:
		for i := range v {
			if n := r.compare(v[i], w.(aggregate)[i]); n != 0 {
				return n
			}
		}
	}
	return 0
}

// communicated is what came of a select: the case, and what it received.
type communicated struct {
	k     int
	value Value
	ok    bool
}

// channel returns the channel of a reference; that of nil is never ready.
func (r *run) channel(ref Value) channel {
	if ref == reference("") {
		return channel{}
	}
	return r.s.shared[string(ref.(reference))].(channel)
}

// set replaces a channel.
func (r *run) set(ref Value, c channel) { r.s.shared[string(ref.(reference))] = c }

// meets reports whether an offer is one on a channel without a buffer.
func (r *run) meets(o *offer) bool {
	return !o.guard && o.channel != reference("") && r.channel(o.channel).cap == 0
}

// ready reports whether an offer can be taken at once.
func (r *run) ready(o *offer) bool {
	switch {
	case o.guard:
		return o.open
	case o.channel == reference(""):
		return false
	}
	c := r.channel(o.channel)
	switch {
	case c.closed:
		return true
	case c.cap > 0 && o.send:
		return len(c.buffer) < c.cap
	case c.cap > 0:
		return len(r.messages(o)) > 0
	}
	other := sender
	if o.send {
		other = receiver
	}
	return c.parked == other && c.who != r.self && r.s.threads[c.who].waits == 1
}

// retract takes the thread back from the channels where it is parked.
func (r *run) retract(offers []offer) {
	for i := range offers {
		if !r.meets(&offers[i]) {
			continue
		}
		c := r.channel(offers[i].channel)
		if (c.parked == sender || c.parked == receiver) && c.who == r.self {
			r.set(offers[i].channel, channel{cap: c.cap, closed: c.closed})
		}
	}
	r.s.threads[r.self].waits = 0
}

// communicate executes a select, send or receive n with these cases; def is the
// default's index, or -1. On a channel without a buffer the first one to come parks, the second
// one completes the exchange for both, and the first one then wakes.
func (r *run) communicate(n syntax.Node, offers []offer, def int) communicated {
	meets := slices.ContainsFunc(offers, func(o offer) bool { return r.live && r.meets(&o) })
	if meets && r.quiet > 0 { // the other side cannot take a step
		r.fault(n)
	}
	if r.live && slices.ContainsFunc(offers, func(o offer) bool {
		return r.meets(&o) && (o.keep || o.pattern != nil)
	}) {
		r.fault(n)
	}
	woken := r.world(func() any {
		if !meets {
			return nil
		}
		k := r.s.threads[r.self].waits - 2
		if k < 0 {
			return nil
		}
		done := communicated{k: k}
		if o := &offers[k]; !o.send {
			c := r.channel(o.channel)
			done.value, done.ok = c.value, true
			r.set(o.channel, channel{cap: c.cap, closed: c.closed})
		}
		r.retract(offers)
		return done
	})
	if done, ok := woken.(communicated); ok {
		return done
	}
	type chance struct{ k, place int }
	ready := r.world(func() any {
		var list []chance
		for i := range offers {
			o := &offers[i]
			if i == def || !r.ready(o) {
				continue
			}
			if places := r.places(o); places != nil {
				for _, p := range places {
					list = append(list, chance{i, p})
				}
				continue
			}
			list = append(list, chance{k: i})
		}
		return list
	}).([]chance)
	if len(ready) == 0 {
		if def >= 0 {
			return communicated{k: def}
		}
		r.park(offers)
	}
	k := ready[0]
	if len(ready) > 1 {
		k = ready[r.choose(len(ready))]
	}
	return r.world(func() any {
		if meets && r.s.threads[r.self].waits == 1 {
			r.retract(offers)
		}
		return r.exchange(k.k, &offers[k.k], k.place)
	}).(communicated)
}

// places returns the places of what can be received from a buffer, nil if there is none.
func (r *run) places(o *offer) []int {
	if o.guard || o.send || r.meets(o) {
		return nil
	}
	return r.messages(o)
}

// park waits at those of the channels where nobody is parked; if there is
// none, the thread is blocked.
func (r *run) park(offers []offer) {
	any := false
	for k := range offers {
		o := &offers[k]
		if !r.meets(o) {
			continue
		}
		c := r.channel(o.channel)
		if c.parked != nobody {
			continue
		}
		c.parked, c.who, c.k = receiver, r.self, k
		if o.send {
			c.parked, c.value = sender, o.value
		}
		r.set(o.channel, c)
		any = true
	}
	if !any {
		panic(blocked{})
	}
	r.s.threads[r.self].waits = 1
	panic(stays{})
}

// exchange takes an offer that is ready.
func (r *run) exchange(k int, o *offer, place int) communicated {
	if o.guard {
		return communicated{k: k}
	}
	c := r.channel(o.channel)
	switch {
	case o.send && c.closed:
		r.fault(o.at)
	case o.send && c.cap > 0:
		at := len(c.buffer)
		for c.bag && at > 0 && r.compare(c.buffer[at-1], o.value) > 0 {
			at--
		}
		c.buffer = slices.Insert(slices.Clone(c.buffer), at, o.value)
		r.set(o.channel, c)
	case o.send:
		r.s.threads[c.who].waits = 2 + c.k
		c.parked, c.value = delivered, o.value
		r.set(o.channel, c)
	case c.cap > 0 && len(r.messages(o)) > 0:
		v := c.buffer[place]
		if !o.keep {
			c.buffer = slices.Delete(slices.Clone(c.buffer), place, place+1)
			r.set(o.channel, c)
		}
		return communicated{k, v, true}
	case c.closed:
		return communicated{k, zero(o.elem), false}
	default:
		r.s.threads[c.who].waits = 2 + c.k
		v := c.value
		r.set(o.channel, channel{cap: c.cap, closed: c.closed})
		return communicated{k, v, true}
	}
	return communicated{k: k}
}

func (r *run) close(n syntax.Node, ref Value) {
	r.world(func() any {
		if ref == reference("") {
			r.fault(n)
		}
		c := r.channel(ref)
		if c.closed {
			r.fault(n)
		}
		c.closed = true
		r.set(ref, c)
		return nil
	})
}
