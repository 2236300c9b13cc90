// Package racetest decides by brute force which variables of a program have a data race: it runs
// every execution of a random program and keeps a vector clock for each thread.
//
// It is for tests, and shares nothing with the code under test. Programs are generated as data,
// executed by a separate interpreter, and printed in the model language for the checker. Channels
// are queues of values with the clocks of their senders; a rendezvous is one step of both sides.
package racetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// kind is a kind of statement.
type kind int

const (
	read     kind = iota // a data variable into the local variable
	write                // 1 into a data variable
	load                 // a communication variable into the local variable
	store                // 1 into a communication variable
	swap                 // cas(c, 0, 1) of a communication variable into the local one
	swapData             // cas of a data variable
	lock
	unlock
	enter
	exit
	waitFor // on the monitor that it is in
	notify
	notifyAll
	up
	down
	send
	receive
	closing
	await     // a communication variable is not 0
	awaitData // a data variable is not 0
	create
	atomic     // body
	ifLocal    // body, if the local variable is not 0
	selecting  // receives from arg or from other
	selectSend // sends to arg, or default
	tryReceive // receives from arg, or default
	tryLock    // whether it got the lock into the local variable
	wlock      // the rwmutex, for writing
	wunlock
	rlock // for reading
	runlock
	tryWLock
	tryRLock
	addGroup
	doneGroup
	waitGroup
	waitCond // with the lock arg, which it has
	signal
	broadcast
)

// stmt is a statement; arg says which variable, lock, channel or thread.
type stmt struct {
	kind       kind
	arg, other int
	body       []stmt
}

// Numbers of the objects of a program. Channel 0 has no buffer, channel 1 a
// buffer of one, channel 2 of two.
const (
	numData  = 3
	numComm  = 2
	numLocks = 2
	numSems  = 2
	numMons  = 1
	numChans = 3
)

var capacity = [numChans]int{0, 1, 2}

// Program is a random program.
type Program struct {
	threads [][]stmt
	created int // the thread that another one creates, -1 if none
	initial [numSems]int
}

// Generate returns the program of a seed. One in three has threads of about so
// many random statements; the others hand something over.
func Generate(seed uint64, threads, statements int) *Program {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	p := &Program{created: -1}
	if g.r.IntN(3) > 0 {
		if g.r.IntN(6) == 0 {
			g.pass(p)
		} else {
			g.handOver(p)
		}
		return p
	}
	n := 2 + g.r.IntN(max(1, threads-1))
	// A program is about a few things, so that threads meet.
	all := []kind{load, store, swap, swapData, lock, enter, up, down, send, receive, closing, await,
		awaitData, atomic, ifLocal,
		selecting, selectSend, tryReceive, tryLock, wlock, rlock, tryWLock, tryRLock, addGroup,
		waitGroup, waitCond}
	g.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	g.kinds = all[:2+g.r.IntN(3)]
	if slices.Contains(g.kinds, up) || slices.Contains(g.kinds, down) {
		g.kinds = append(g.kinds, up, down)
	}
	if slices.ContainsFunc(g.kinds, func(k kind) bool {
		return k == send || k == receive || k >= selecting && k <= tryReceive || k == closing
	}) {
		g.kinds = append(g.kinds, send, receive)
	}
	for _, with := range [][]kind{{tryLock, lock}, {addGroup, doneGroup, waitGroup},
		{waitGroup, addGroup, doneGroup},
		{waitCond, lock, signal, broadcast}, {rlock, wlock}, {tryWLock, rlock}, {tryRLock, wlock}} {
		if slices.Contains(g.kinds, with[0]) {
			g.kinds = append(g.kinds, with[1:]...)
		}
	}
	if slices.Contains(g.kinds, await) || slices.Contains(g.kinds, load) {
		g.kinds = append(g.kinds, store)
	}
	for i := range p.initial {
		p.initial[i] = g.r.IntN(2)
	}
	for range n {
		p.threads = append(p.threads, g.block(1+g.r.IntN(statements), 0, false, -1))
	}
	if n > 2 && g.r.IntN(2) == 0 {
		p.created = n - 1
		t := &p.threads[g.r.IntN(n-1)]
		*t = slices.Insert(*t, g.r.IntN(len(*t)+1), stmt{kind: create, arg: n - 1})
	}
	return p
}

type generator struct {
	r     *rand.Rand
	kinds []kind
	held  int // one more than the lock that the block which is made now is in
}

// handOver makes a program in which one thread accesses x0 and then another one
// does, ordered or not by what both do in between to some object, and by how the
// second one learns that the first one is so far: by a plain variable, which
// tells without ordering, or by one that is protected in some way, or not at all.
func (g *generator) handOver(p *Program) {
	family := g.family()
	first := g.noise()
	if g.r.IntN(4) == 0 {
		first = append(first, family()...)
	}
	first = append(first, stmt{kind: read + kind(g.r.IntN(2))})
	first = append(first, family()...)
	var second []stmt
	const y = 1
	inside := append(family(), stmt{kind: read + kind(g.r.IntN(2))})
	wrap := func(open, shut kind, s stmt) []stmt { return []stmt{{kind: open}, s, {kind: shut}} }
	put, get := stmt{kind: write, arg: y}, stmt{kind: read, arg: y}
	then := stmt{kind: ifLocal, body: inside}
	switch g.r.IntN(7) {
	case 0:
		second = inside
	case 1, 2:
		first = append(first, put)
		second = []stmt{get, then}
	case 3:
		first = append(first, stmt{kind: store})
		second = []stmt{{kind: load}, then}
	case 4:
		first = append(first, stmt{kind: atomic, body: []stmt{put}})
		second = []stmt{{kind: atomic, body: []stmt{get}}, then}
	case 5:
		first = append(first, wrap(lock, unlock, put)...)
		second = append(wrap(lock, unlock, get), then)
	case 6:
		// The first one gives the monitor up in some way.
		first = append(first, stmt{kind: enter}, put)
		switch g.r.IntN(3) {
		case 0:
			first = append(first, stmt{kind: waitFor})
		case 1:
			first = append(first, stmt{kind: closing, arg: 2}, stmt{kind: closing, arg: 2})
		}
		first = append(first, stmt{kind: exit})
		second = append(wrap(enter, exit, get), then)
	}
	p.threads = [][]stmt{append(first, g.noise()...), append(g.noise(), second...)}
	if g.r.IntN(2) == 0 {
		p.threads = append(p.threads, append(family(), g.noise()...))
		if g.r.IntN(4) == 0 {
			p.created = 2
			p.threads[0] = append(p.threads[0], stmt{kind: create, arg: 2})
		}
	}
	p.initial[0] = g.r.IntN(3)
}

// pass makes a program that hands x0 over by one of several messages or permits:
// what the second thread takes may be one that the first one gave before its
// access. The second one begins when the first is done, which it knows without
// an order, from a plain variable.
func (g *generator) pass(p *Program) {
	const y, q, s = 1, 2, 0
	times := func(n int, k kind, arg int) (b []stmt) {
		for range n {
			b = append(b, stmt{kind: k, arg: arg})
		}
		return b
	}
	x0 := func() stmt { return stmt{kind: read + kind(g.r.IntN(2))} }
	before, between, after := times(1+g.r.IntN(2), send, q), times(1, send, q),
		times(1+g.r.IntN(2), receive, q)
	switch g.r.IntN(6) {
	case 0, 1:
		// One step takes messages out and puts one in.
		between = []stmt{{kind: atomic, body: append(times(1+g.r.IntN(2), receive, q), between...)}}
	case 2:
		between = append(times(1, receive, q), between...)
	case 3:
		before, between = nil, times(1, closing, 1+g.r.IntN(2))
		after = times(1+g.r.IntN(2), receive, between[0].arg)
	case 4:
		before, between, after = times(g.r.IntN(2), up, s), times(1, []kind{up, down}[g.r.IntN(2)],
			s), times(1, down, s)
		p.initial[s] = 1 + g.r.IntN(2)
	}
	first := append(append(append(before, x0()), between...), stmt{kind: write, arg: y})
	second := []stmt{{kind: read, arg: y}, {kind: ifLocal, body: append(after, x0())}}
	p.threads = [][]stmt{first, append(g.noise(), second...)}
}

func (g *generator) noise() []stmt {
	if g.r.IntN(3) > 0 {
		return nil
	}
	return []stmt{{kind: read + kind(g.r.IntN(2)), arg: g.r.IntN(numData)}}
}

// family returns a function that makes statements about one object.
func (g *generator) family() func() []stmt {
	some := func(arg, other int, kinds ...kind) func() []stmt {
		return func() []stmt {
			var b []stmt
			for range 1 + g.r.IntN(3) {
				b = append(b, stmt{kind: kinds[g.r.IntN(len(kinds))], arg: arg, other: other})
			}
			return b
		}
	}
	q := g.r.IntN(numChans)
	switch g.r.IntN(13) {
	case 0:
		return some(0, 0, up, down)
	case 1:
		return some(q, (q+1)%numChans, send, receive, closing, selecting, selectSend, tryReceive)
	case 2, 3:
		return some(q, 0, send, receive, receive)
	case 4:
		return some(q, 0, receive, closing)
	case 5:
		return some(0, 0, store, load, swap, await)
	case 6:
		return some(2, 0, swapData, read, awaitData)
	case 7:
		return func() []stmt {
			b := []stmt{{kind: enter}}
			if k := g.r.IntN(5); k < 3 {
				b = append(b, stmt{kind: []kind{waitFor, notify, notifyAll}[k]})
			}
			return append(b, stmt{kind: exit})
		}
	case 8:
		return func() []stmt {
			b := []stmt{{kind: lock}}
			if k := g.r.IntN(5); k < 3 {
				b = append(b, stmt{kind: waitCond + kind(k)})
			}
			return append(b, stmt{kind: unlock})
		}
	case 9:
		return func() []stmt {
			k := tryLock
			if g.r.IntN(2) == 0 {
				k = lock
			}
			return pair(k, 0)
		}
	case 10:
		return func() []stmt {
			return pair([]kind{wlock, rlock, rlock, tryWLock, tryRLock}[g.r.IntN(5)], 0)
		}
	case 11:
		return some(0, 0, addGroup, addGroup, doneGroup, waitGroup)
	}
	about := some(1+g.r.IntN(2), 0, send, receive, write, read, read)
	return func() []stmt { return []stmt{{kind: atomic, body: about()}} }
}

// pair locks and unlocks again, with these statements between.
func pair(k kind, arg int, body ...stmt) []stmt {
	unlocks := map[kind]kind{lock: unlock, tryLock: unlock, wlock: wunlock, tryWLock: wunlock,
		rlock: runlock, tryRLock: runlock}
	body = append(body, stmt{kind: unlocks[k], arg: arg})
	if k == tryLock || k == tryWLock || k == tryRLock {
		body = []stmt{{kind: ifLocal, body: body}}
	}
	return append([]stmt{{kind: k, arg: arg}}, body...)
}

// block makes n statements. In an atomic block nothing stands that cannot; in is
// the monitor that the thread is in, -1 if none.
func (g *generator) block(n, depth int, inAtomic bool, in int) []stmt {
	var b []stmt
	for range n {
		switch g.r.IntN(5) {
		case 0:
			b = append(b, stmt{kind: read, arg: g.r.IntN(numData)})
			continue
		case 1:
			b = append(b, stmt{kind: write, arg: g.r.IntN(numData)})
			continue
		}
		s := stmt{kind: g.kinds[g.r.IntN(len(g.kinds))]}
		if in >= 0 && g.r.IntN(3) == 0 {
			s.kind = []kind{waitFor, notify, notifyAll}[g.r.IntN(3)]
		}
		if g.held > 0 && g.r.IntN(3) == 0 && slices.Contains(g.kinds, waitCond) {
			s.kind = waitCond + kind(g.r.IntN(3))
		}
		few := 1 + g.r.IntN(2)
		switch s.kind {
		case load, store, swap, await:
			s.arg = g.r.IntN(numComm)
		case swapData, awaitData:
			s.arg = g.r.IntN(numData)
		case up, down:
			s.arg = g.r.IntN(numSems)
		case send, receive, selectSend, tryReceive, selecting, closing:
			s.arg = g.r.IntN(numChans)
			if inAtomic {
				s.arg = 1 + g.r.IntN(numChans-1)
			}
			if s.kind == selecting {
				s.other = (s.arg + 1) % numChans
			}
		case waitFor, notify, notifyAll:
			s.arg = in
		case lock, tryLock, wlock, rlock, tryWLock, tryRLock:
			was := g.held
			if s.kind == lock || s.kind == tryLock {
				s.arg = g.r.IntN(numLocks)
				g.held = s.arg + 1
			}
			b = append(b, pair(s.kind, s.arg, g.block(few, depth+1, inAtomic, in)...)...)
			g.held = was
			continue
		case waitCond:
			if g.held == 0 || inAtomic {
				continue
			}
			s.arg = g.held - 1
		case enter:
			if inAtomic {
				continue
			}
			s.arg = g.r.IntN(numMons)
			b = append(b, s)
			b = append(b, g.block(few, depth+1, inAtomic, s.arg)...)
			s.kind = exit
		case atomic, ifLocal:
			if depth > 1 || s.kind == atomic && inAtomic {
				continue
			}
			s.body = g.block(few, depth+1, inAtomic || s.kind == atomic, in)
		}
		if inAtomic && (s.kind == waitFor || s.kind == selecting || s.kind == selectSend ||
			s.kind == tryReceive) {
			continue
		}
		b = append(b, s)
	}
	return b
}

// Text returns the program in the model language.
func (p *Program) Text() string {
	var b strings.Builder
	b.WriteString("var x0, x1, x2 uint1\ncomm var c0, c1 uint1\nmutex l0, l1\nrwmutex " +
		"r0\nwaitgroup g0\ncond k0\nmonitor m0\n")
	fmt.Fprintf(&b, "semaphore s0 = %d\nsemaphore s1 = %d\n", p.initial[0], p.initial[1])
	b.WriteString("var q0 = make(chan uint1)\nvar q1 = make(chan uint1, 1)\nvar q2 = make(chan " +
		"uint1, 2)\n")
	for i, t := range p.threads {
		fmt.Fprintf(&b, "thread T%d() {\n\tv := uint1(0)\n\tok := false\n", i)
		printBlock(&b, t, "\t")
		b.WriteString("}\n")
	}
	b.WriteString("init {\n")
	for i := range p.threads {
		if i != p.created {
			fmt.Fprintf(&b, "\tgo T%d()\n", i)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// lines are the statements of one line, with their argument.
var lines = map[kind]string{
	read: "v = x%d", write: "x%d = 1", load: "v = c%d", store: "c%d = 1",
	wlock: "lock(r0)", wunlock: "unlock(r0)", rlock: "rlock(r0)", runlock: "runlock(r0)",
	addGroup: "add(g0, 1)", doneGroup: "done(g0)", waitGroup: "wait(g0)",
	waitCond: "wait(k0, l%d)", signal: "signal(k0)", broadcast: "broadcast(k0)",
	lock: "lock(l%d)", unlock: "unlock(l%d)",
	waitFor: "wait(m%d)", notify: "notify(m%d)", notifyAll: "notifyAll(m%d)",
	up: "up(s%d)", down: "down(s%d)",
	send: "q%d <- 1", receive: "v = <-q%d", closing: "close(q%d)",
	await: "await(c%d != 0)", awaitData: "await(x%d != 0)", create: "go T%d()",
}

func printBlock(b *strings.Builder, stmts []stmt, indent string) {
	line := func(format string, args ...any) {
		b.WriteString(indent)
		fmt.Fprintf(b, format, args...)
		b.WriteString("\n")
	}
	for _, s := range stmts {
		if format, ok := lines[s.kind]; ok {
			if strings.Contains(format, "%") {
				line(format, s.arg)
			} else {
				line("%s", format)
			}
			continue
		}
		switch s.kind {
		case swap, swapData:
			name := "c"
			if s.kind == swapData {
				name = "x"
			}
			line("ok = cas(%s%d, 0, 1)", name, s.arg)
			line("if ok { v = 1 } else { v = 0 }")
		case tryLock, tryWLock, tryRLock:
			line("ok = %s", map[kind]string{tryLock: fmt.Sprintf("trylock(l%d)", s.arg),
				tryWLock: "trylock(r0)", tryRLock: "tryrlock(r0)"}[s.kind])
			line("if ok { v = 1 } else { v = 0 }")
		case enter:
			line("synchronized (m%d) {", s.arg)
			indent += "\t"
		case exit:
			indent = indent[1:]
			line("}")
		case atomic:
			line("atomic {")
			printBlock(b, s.body, indent+"\t")
			line("}")
		case ifLocal:
			line("if v != 0 {")
			printBlock(b, s.body, indent+"\t")
			line("}")
		case selecting:
			line("select {\n%[1]scase v = <-q%[2]d:\n%[1]scase v = <-q%[3]d:\n%[1]s}", indent,
				s.arg, s.other)
		case selectSend:
			line("select {\n%[1]scase q%[2]d <- 1:\n%[1]sdefault:\n%[1]s}", indent, s.arg)
		case tryReceive:
			line("select {\n%[1]scase v = <-q%[2]d:\n%[1]sdefault:\n%[1]s}", indent, s.arg)
		}
	}
}
