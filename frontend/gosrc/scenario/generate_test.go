package scenario_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A stmt is a statement of an operation: Go text, and what it does. Statements with a body are
// conditions.
type stmt struct {
	do   action
	text string
	body []stmt
	// What it reads and writes of the data, without a lock of its own.
	reads, writes component
}

// action is a step of goroutine g with argument k.
type action func(w *world, g *routine) outcome

type outcome int

const (
	done outcome = iota
	no           // the condition does not hold
	waits
	panics
	repeat // from the beginning of the section
	more   // a further step of it is to come
)

// component is a set of parts of the data that can have a data race.
type component uint8

const (
	dataX component = 1 << iota
	dataM
	dataL
)

// data is the data of testdata/types.
type data struct {
	x int8
	m [2]int8 // -1: absent
	l [8]int8
	n int8
}

// world is everything that goroutines share.
type world struct {
	data
	version  int8 // of the pointer to the data
	held     [3]int8
	readers  int8
	tickets  int8
	asleep   [3]int8 // the tickets of those that wait for the condition; -1: woken
	a, b, ch int8
	sm       [2]int8 // -1: absent
}

// The locks of a world. A semaphore and a channel that has the data are locks.
const (
	lockMu = iota
	lockOther
	lockRW // and the channels
)

// routine is where a goroutine is.
type routine struct {
	me      int8 // 1 for goroutine 0
	k       int8
	pc      int8 // -1: its call has not begun
	r       int8
	local   bool // it works on a copy
	copy    data
	version int8
}

func newWorld() world {
	return world{data: data{m: [2]int8{-1, -1}}, sm: [2]int8{-1, -1}}
}

func (g *routine) data(w *world) *data {
	if g.local {
		return &g.copy
	}
	return &w.data
}

// onData is a statement that uses the data.
func onData(text string, reads, writes component, f func(d *data, r *int8, k int8) outcome) stmt {
	return stmt{text: text, reads: reads, writes: writes, do: func(w *world, g *routine) outcome {
		return f(g.data(w), &g.r, g.k)
	}}
}

func when(is bool) outcome {
	if is {
		return done
	}
	return no
}

// dataStatements are the simple statements on the data; c is a constant.
var dataStatements = []func(c int8) stmt{
	func(c int8) stmt {
		return onData("r = d.x", dataX, 0, func(d *data, r *int8, _ int8) outcome {
			*r = d.x
			return done
		})
	},
	func(c int8) stmt {
		return onData(fmt.Sprintf("d.x = (d.x + %d) %% 3", c+1), 0, dataX,
			func(d *data, _ *int8, _ int8) outcome {
				d.x = (d.x + c + 1) % 3
				return done
			})
	},
	func(c int8) stmt {
		return onData("d.x = k", 0, dataX, func(d *data, _ *int8, k int8) outcome {
			d.x = k
			return done
		})
	},
	func(c int8) stmt {
		return onData("r = d.m[k]", dataM, 0, func(d *data, r *int8, k int8) outcome {
			*r = max(0, d.m[k-1])
			return done
		})
	},
	func(c int8) stmt {
		return onData(fmt.Sprintf("d.m[k] = (d.m[k] + %d) %% 3", c), 0, dataM,
			func(d *data, _ *int8, k int8) outcome {
				d.m[k-1] = (max(0, d.m[k-1]) + c) % 3
				return done
			})
	},
	func(c int8) stmt {
		return onData("delete(d.m, k)", 0, dataM, func(d *data, _ *int8, k int8) outcome {
			d.m[k-1] = -1
			return done
		})
	},
	func(c int8) stmt {
		return onData("r = len(d.m)", dataM, 0, func(d *data, r *int8, _ int8) outcome {
			*r = 0
			for _, v := range d.m {
				if v >= 0 {
					*r++
				}
			}
			return done
		})
	},
	func(c int8) stmt {
		return onData("r = len(d.l)", dataL, 0, func(d *data, r *int8, _ int8) outcome {
			*r = d.n
			return done
		})
	},
	func(c int8) stmt {
		return onData("r = 0\nfor _, v := range d.m {\nr += v\n}", dataM, 0,
			func(d *data, r *int8, _ int8) outcome {
				*r = max(0, d.m[0]) + max(0, d.m[1])
				return done
			})
	},
	func(c int8) stmt {
		return onData("d.x = d.m[k]", dataM, dataX, func(d *data, _ *int8, k int8) outcome {
			d.x = max(0, d.m[k-1])
			return done
		})
	},
	func(c int8) stmt {
		return onData("r += k", 0, 0, func(_ *data, r *int8, k int8) outcome {
			*r += k
			return done
		})
	},
}

// dataStatement draws a statement on the data; a deep one has no body.
func dataStatement(r *rand.Rand, deep bool) stmt {
	c, k := int8(r.IntN(3)), r.IntN(len(dataStatements)+3)
	if deep {
		k %= len(dataStatements)
	}
	switch k - len(dataStatements) {
	case 0:
		s := onData("len(d.l) < 2", dataL, 0, func(d *data, _ *int8, _ int8) outcome {
			return when(d.n < 2)
		})
		s.body = []stmt{onData("d.l = append(d.l, k)", 0, dataL, push)}
		return s
	case 1:
		s := onData("len(d.l) > 0", dataL, 0, func(d *data, _ *int8, _ int8) outcome {
			return when(d.n > 0)
		})
		s.body = []stmt{pop()}
		return s
	case 2:
		s := *xIs(c)
		for range 1 + r.IntN(2) {
			s.body = append(s.body, dataStatement(r, true))
		}
		return s
	}
	return dataStatements[k](c)
}

func push(d *data, _ *int8, k int8) outcome {
	d.l[d.n] = k
	d.n++
	return done
}

func pop() stmt {
	return onData("r, d.l = d.l[0], d.l[1:]", 0, dataL, func(d *data, r *int8, _ int8) outcome {
		if d.n == 0 {
			return panics
		}
		*r = d.l[0]
		copy(d.l[:], d.l[1:])
		d.n--
		d.l[d.n] = 0
		return done
	})
}

// unguarded is a statement that needs no guard.
func unguarded(text string, f func(w *world, r *int8, k int8) outcome) stmt {
	return stmt{text: text, do: func(w *world, g *routine) outcome {
		return f(w, &g.r, g.k)
	}}
}

// freeStatements are the simple statements on what needs no guard; c is a constant.
var freeStatements = []func(c int8) stmt{
	func(c int8) stmt {
		return unguarded(fmt.Sprintf("r = int(t.a.Add(%d))", c+1),
			func(w *world, r *int8, _ int8) outcome {
				w.a += c + 1
				*r = w.a
				return done
			})
	},
	func(c int8) stmt {
		return unguarded("r = int(t.a.Load())", func(w *world, r *int8, _ int8) outcome {
			*r = w.a
			return done
		})
	},
	func(c int8) stmt {
		return unguarded("r = int(t.b.Load())", func(w *world, r *int8, _ int8) outcome {
			*r = w.b
			return done
		})
	},
	func(c int8) stmt {
		return unguarded("t.b.Store(int64(k))", func(w *world, _ *int8, k int8) outcome {
			w.b = k
			return done
		})
	},
	func(c int8) stmt {
		return unguarded("r = int(t.b.Swap(int64(r)))", func(w *world, r *int8, _ int8) outcome {
			*r, w.b = w.b, *r
			return done
		})
	},
	func(c int8) stmt {
		return unguarded("if v, ok := t.sm.Load(k); ok {\nr = v.(int)\n}",
			func(w *world, r *int8, k int8) outcome {
				if v := w.sm[k-1]; v >= 0 {
					*r = v
				}
				return done
			})
	},
	func(c int8) stmt {
		return unguarded("t.sm.Store(k, r)", func(w *world, r *int8, k int8) outcome {
			w.sm[k-1] = *r
			return done
		})
	},
	func(c int8) stmt {
		const text = "if v, ok := t.sm.LoadOrStore(k, %d); ok {\nr = v.(int)\n}"
		return unguarded(fmt.Sprintf(text, c),
			func(w *world, r *int8, k int8) outcome {
				if v := w.sm[k-1]; v >= 0 {
					*r = v
				} else {
					w.sm[k-1] = c
				}
				return done
			})
	},
	func(c int8) stmt {
		return unguarded("if v, ok := t.sm.LoadAndDelete(k); ok {\nr = v.(int)\n}",
			func(w *world, r *int8, k int8) outcome {
				if v := w.sm[k-1]; v >= 0 {
					*r, w.sm[k-1] = v, -1
				}
				return done
			})
	},
	func(c int8) stmt {
		return unguarded("select {\ncase t.ch <- k:\nr = 1\ndefault:\nr = 0\n}",
			func(w *world, r *int8, k int8) outcome {
				*r = 0
				if w.ch == 0 {
					*r, w.ch = 1, k
				}
				return done
			})
	},
	func(c int8) stmt {
		return unguarded("select {\ncase r = <-t.ch:\ndefault:\nr = 0\n}",
			func(w *world, r *int8, _ int8) outcome {
				*r, w.ch = w.ch, 0
				return done
			})
	},
	func(c int8) stmt {
		return unguarded("r = len(t.ch)", func(w *world, r *int8, _ int8) outcome {
			*r = min(w.ch, 1)
			return done
		})
	},
}

// freeStatement draws a statement on what needs no guard; a deep one has no body.
func freeStatement(r *rand.Rand, deep bool) (s stmt) {
	c, k := int8(r.IntN(3)), r.IntN(len(freeStatements)+3)
	if deep {
		k %= len(freeStatements)
	}
	switch k - len(freeStatements) {
	case 0:
		s = unguarded(fmt.Sprintf("t.b.CompareAndSwap(int64(r), %d)", c),
			func(w *world, r *int8, _ int8) outcome {
				if w.b == *r {
					w.b = c
					return done
				}
				return no
			})
	case 1:
		s = unguarded(fmt.Sprintf("t.sm.CompareAndSwap(k, r, %d)", c),
			func(w *world, r *int8, k int8) outcome {
				if w.sm[k-1] == *r {
					w.sm[k-1] = c
					return done
				}
				return no
			})
	case 2:
		s = stmt{text: "t.mu.TryLock()", do: func(w *world, g *routine) outcome {
			if w.held[lockMu] != 0 {
				return no
			}
			w.held[lockMu] = g.me
			return done
		}}
		inner := onData("r, t.d.x = t.d.x, k", 0, dataX, func(d *data, r *int8, k int8) outcome {
			*r, d.x = d.x, k
			return done
		})
		s.body = []stmt{inner, release("t.mu.Unlock()", lockMu)}
		return s
	default:
		return freeStatements[k](c)
	}
	for range 1 + r.IntN(2) {
		s.body = append(s.body, freeStatement(r, true))
	}
	return s
}

// waiting is a statement on the channel that may wait.
func waiting(r *rand.Rand) stmt {
	if r.IntN(2) == 0 {
		return stmt{text: "t.ch <- k", do: func(w *world, g *routine) outcome {
			if w.ch != 0 {
				return waits
			}
			w.ch = g.k
			return done
		}}
	}
	return stmt{text: "r = <-t.ch", do: func(w *world, g *routine) outcome {
		if w.ch == 0 {
			return waits
		}
		g.r, w.ch = w.ch, 0
		return done
	}}
}

// acquire takes a lock, or what is used as one.
func acquire(text string, lock int) stmt {
	return stmt{text: text, do: func(w *world, g *routine) outcome {
		if w.held[lock] != 0 || lock == lockRW && w.readers > 0 {
			return waits
		}
		w.held[lock] = g.me
		return done
	}}
}

func release(text string, lock int) stmt {
	return stmt{text: text, do: func(w *world, g *routine) outcome {
		w.held[lock] = 0
		return done
	}}
}

var (
	acquireShared = stmt{text: "t.rw.RLock()", do: func(w *world, _ *routine) outcome {
		if w.held[lockRW] != 0 {
			return waits
		}
		w.readers++
		return done
	}}
	releaseShared = stmt{text: "t.rw.RUnlock()", do: func(w *world, _ *routine) outcome {
		w.readers--
		return done
	}}
	// sleep is cond.Wait: two steps, because it takes the lock again.
	sleep = stmt{text: "t.cond.Wait()", do: func(w *world, g *routine) outcome {
		switch asleep := &w.asleep[g.me-1]; {
		case *asleep == 0:
			w.held[lockMu] = 0
			w.tickets++
			*asleep = w.tickets
			return more
		case *asleep > 0 || w.held[lockMu] != 0:
			return waits
		default:
			w.held[lockMu], *asleep = g.me, 0
			return done
		}
	}}
	copyData = stmt{do: func(w *world, g *routine) outcome {
		g.copy, g.version, g.local, g.r = w.data, w.version, true, 0
		return done
	}}
	compareAndSwap = stmt{do: func(w *world, g *routine) outcome {
		if g.version != w.version {
			return repeat
		}
		return store.do(w, g)
	}}
	store = stmt{do: func(w *world, g *routine) outcome {
		w.data, g.local, g.copy = g.copy, false, data{}
		w.version++
		return done
	}}
)

// instr is a statement in the code of an operation; if a condition does not hold, the code
// continues at other. Without a statement it is a jump.
type instr struct {
	stmt  stmt
	other int8
	local bool // nobody else can see it
}

// builder writes the text and the code of an operation.
type builder struct {
	text strings.Builder
	code []instr
	// local: the data is a copy.
	local bool
	// gap, if it is not nil, ends the critical section and begins another, before a statement:
	// number gapAt.
	gap   []stmt
	gapAt int
}

func (b *builder) write(text string) {
	if text != "" {
		fmt.Fprintln(&b.text, text)
	}
}

func (b *builder) emit(list ...stmt) {
	for _, s := range list {
		b.write(s.text)
		b.code = append(b.code, instr{stmt: s, local: b.local && s.reads|s.writes != 0 ||
			s.text == "r += k"})
	}
}

func (b *builder) statements(list []stmt) {
	for _, s := range list {
		if b.gapAt == 0 {
			b.emit(b.gap...)
		}
		b.gapAt--
		if s.body == nil {
			b.emit(s)
			continue
		}
		at := len(b.code)
		b.code = append(b.code, instr{stmt: s, local: b.local})
		fmt.Fprintf(&b.text, "if %s {\n", s.text)
		b.statements(s.body)
		fmt.Fprintln(&b.text, "}")
		b.code[at].other = int8(len(b.code))
	}
}

// await waits in a loop, or once, while a condition holds.
func (b *builder) await(s stmt, loop string, how stmt) {
	at := len(b.code)
	b.code = append(b.code, instr{stmt: s})
	fmt.Fprintf(&b.text, "%s %s {\n%s\n}\n", loop, s.text, how.text)
	b.code = append(b.code, instr{stmt: how})
	if loop == "for" {
		b.code = append(b.code, instr{other: int8(at), local: true})
	}
	b.code[at].other = int8(len(b.code))
}

// forever waits forever.
var forever = stmt{text: "select {}", do: func(*world, *routine) outcome { return waits }}

// wake wakes some of those that wait for the condition.
func wake(all bool) stmt {
	text := "t.cond.Signal()"
	if all {
		text = "t.cond.Broadcast()"
	}
	return stmt{text: text, do: func(w *world, _ *routine) outcome {
		first := -1
		for i, ticket := range w.asleep {
			if ticket > 0 && all {
				w.asleep[i] = -1
			} else if ticket > 0 && (first < 0 || ticket < w.asleep[first]) {
				first = i
			}
		}
		if first >= 0 {
			w.asleep[first] = -1
		}
		return done
	}}
}

// guard is how a type guards its data.
type guard int

const (
	mutex guard = iota
	deferred
	closure
	child
	readWrite
	semaphore
	token
	pointer
	both // two locks
	free // no data but what needs no guard
	guards
)

// fault is what is wrong with an operation, which need not show.
type fault int

const (
	none fault = iota
	gapped
	unlocked
	leaves     // with the lock held
	noWakeUp   // of those that wait
	oneWakeUp  // one of them
	looksOnce  // and takes the condition for true when it is woken
	shared     // a lock for reading
	storesOnly // where it should compare and swap
	inverse    // takes two locks in the other order
	oneLock    // of two
)

// faults are those that a guard can have.
var faults = [guards][]fault{
	mutex:     {gapped, unlocked, leaves, noWakeUp, oneWakeUp, looksOnce},
	deferred:  {gapped, unlocked, noWakeUp, oneWakeUp, looksOnce},
	closure:   {gapped, noWakeUp, looksOnce},
	child:     {gapped, unlocked},
	readWrite: {gapped, unlocked, shared, leaves},
	semaphore: {gapped, unlocked, leaves},
	token:     {gapped},
	pointer:   {gapped, storesOnly},
	both:      {inverse, oneLock},
	free:      {none},
}

// method is an operation of a type.
type method struct {
	code, spec []instr
	// Where a panic that is recovered continues, in the code and in the specification; -1: it is
	// not recovered.
	handle, specHandle int8
	mayWait            bool
	text, model        string // the bodies
}

// generatedType is a type of three operations.
type generatedType struct {
	guard   guard
	fault   fault // of the first operation
	modeled bool
	methods [3]method
}

// newType draws a type.
func newType(r *rand.Rand) *generatedType {
	t := &generatedType{guard: guard(r.IntN(int(guards))), modeled: r.IntN(2) == 0}
	if t.guard == child && r.IntN(12) > 0 { // it has many executions
		t.guard = mutex
	}
	if t.guard == free {
		t.modeled = false
	} else if r.IntN(3) > 0 {
		t.fault = faults[t.guard][r.IntN(len(faults[t.guard]))]
	}
	// Where an operation leaves with the lock, its own specification would do the same.
	t.modeled = t.modeled || t.fault == leaves
	wakes := t.guard <= closure && (t.fault >= noWakeUp && t.fault <= looksOnce || r.IntN(3) == 0)
	for i := range t.methods {
		f := t.fault
		if i > 0 {
			f = none
		}
		t.methods[i] = newMethod(r, t.guard, f, wakes, t.fault == looksOnce)
	}
	return t
}

// newMethod draws an operation. Others may wait for what it does.
func newMethod(r *rand.Rand, g guard, f fault, awaited, often bool) (m method) {
	m.handle, m.specHandle = -1, -1
	if g == free {
		b := builder{gapAt: -1}
		if m.mayWait = r.IntN(5) == 0; m.mayWait {
			b.emit(waiting(r))
		}
		for range 1 + r.IntN(2) {
			b.statements([]stmt{freeStatement(r, false)})
		}
		m.text, m.code, m.spec = b.text.String(), b.code, b.code
		return m
	}
	var body []stmt
	for range 1 + r.IntN(3) {
		body = append(body, dataStatement(r, false))
	}
	recovers := (g == deferred || g == closure) && r.IntN(5) == 0
	if recovers {
		body = append(body, pop())
	}
	var await *stmt
	if awaited && f != unlocked && (often || r.IntN(2) == 0) {
		m.mayWait = true
		await = emptyList
		if c := int8(r.IntN(3)); r.IntN(2) == 0 {
			await = xIs(c)
		}
	}
	spec := builder{gapAt: -1}
	if await != nil {
		spec.await(*await, "if", forever)
	}
	spec.statements(body)
	m.spec, m.model = spec.code, spec.text.String()
	b := builder{gapAt: -1}
	if f == gapped {
		b.gapAt = r.IntN(len(body) + 1)
	}
	if g == pointer {
		b.pointer(f, body)
	} else {
		m.handle = b.guarded(g, f, body, await, awaited)
	}
	m.code, m.text = b.code, b.text.String()
	if recovers {
		m.specHandle = int8(len(m.spec))
		const handler = "defer func() {\nif recover() != nil {\nr = 7\n}\n}()\n"
		m.text, m.model = handler+m.text, handler+m.model
	} else {
		m.handle = -1
	}
	return m
}

func xIs(c int8) *stmt {
	s := onData(fmt.Sprintf("d.x == %d", c), dataX, 0, func(d *data, _ *int8, _ int8) outcome {
		return when(d.x == c)
	})
	return &s
}

var emptyList = func() *stmt {
	s := onData("len(d.l) == 0", dataL, 0, func(d *data, _ *int8, _ int8) outcome {
		return when(d.n == 0)
	})
	return &s
}()

// pointer writes an operation that swaps a pointer to the data.
func (b *builder) pointer(f fault, body []stmt) {
	parts := [][]stmt{body}
	if f == gapped {
		at := min(b.gapAt, len(body))
		parts = [][]stmt{body[:at], body[at:]}
	}
	b.gapAt = -1
	for _, part := range parts {
		at := int8(len(b.code))
		b.write("for {\nold := t.p.Load()\nd := old.clone()\nr = 0")
		b.emit(copyData)
		b.local = true
		b.statements(part)
		b.local = false
		if f == storesOnly {
			b.write("t.p.Store(d)\nbreak\n}")
			b.emit(store)
			continue
		}
		b.write("if t.p.CompareAndSwap(old, d) {\nbreak\n}\n}")
		b.code = append(b.code, instr{stmt: compareAndSwap, other: at})
	}
}

// guarded writes an operation with locks, or what is used as one. It returns where a panic that is
// recovered continues.
func (b *builder) guarded(g guard, f fault, body []stmt, await *stmt, awaited bool) int8 {
	s := sectionOf(g, f, body)
	b.write(s.before)
	b.emit(s.open...)
	if g != token {
		b.write("d := &t.d")
	}
	b.write("_ = d")
	b.gap = slices.Concat(s.shut, s.open)
	if s.gap != nil {
		b.gap = s.gap
	}
	if await != nil {
		loop := "for"
		if f == looksOnce {
			loop = "if"
		}
		b.await(*await, loop, sleep)
	}
	b.statements(body)
	if b.gapAt == 0 {
		b.emit(b.gap...)
		b.emit(onData("r = d.x", dataX, 0, func(d *data, r *int8, _ int8) outcome {
			*r = d.x
			return done
		}))
	}
	leave := -1
	if f == leaves {
		leave = len(b.code)
		b.code = append(b.code, instr{stmt: *xIs(1)}, instr{local: true})
		b.code[leave].other = int8(len(b.code))
		b.write("if d.x == 1 {\nreturn\n}")
	}
	if awaited && f != noWakeUp {
		b.emit(wake(f != oneWakeUp))
	}
	handle := int8(len(b.code))
	b.emit(s.shut...)
	b.write(s.after)
	if leave >= 0 {
		b.code[leave+1].other = int8(len(b.code))
	}
	return handle
}

// section is how an operation takes its locks.
type section struct {
	before, after   string
	open, shut, gap []stmt // gap: nil: shut and open
}

func uses(body []stmt) (reads, writes component) {
	for _, s := range body {
		r, w := uses(s.body)
		reads, writes = reads|s.reads|r, writes|s.writes|w
	}
	return reads, writes
}

func sectionOf(g guard, f fault, body []stmt) (s section) {
	one := func(lock int, open, shut string) {
		s.open, s.shut = []stmt{acquire(open, lock)}, []stmt{release(shut, lock)}
	}
	reads, writes := uses(body)
	switch g {
	case mutex:
		one(lockMu, "t.mu.Lock()", "t.mu.Unlock()")
	case deferred:
		one(lockMu, "t.mu.Lock()\ndefer t.mu.Unlock()", "")
		s.gap = []stmt{release("t.mu.Unlock()", lockMu), acquire("t.mu.Lock()", lockMu)}
	case closure:
		one(lockMu, "", "")
		s.before, s.after = "t.with(func() {", "})"
		s.gap = []stmt{release("t.mu.Unlock()", lockMu), acquire("t.mu.Lock()", lockMu)}
	case child:
		one(lockMu, "t.mu.Lock()", "t.mu.Unlock()")
		s.before = "ended := make(chan struct{})\ngo func() {"
		s.after = "close(ended)\n}()\n<-ended"
	case readWrite:
		one(lockRW, "t.rw.Lock()", "t.rw.Unlock()")
		if writes == 0 && f != leaves || f == shared {
			s.open, s.shut = []stmt{acquireShared}, []stmt{releaseShared}
		}
	case semaphore:
		one(lockRW, "t.sem <- struct{}{}", "<-t.sem")
	case token:
		one(lockRW, "d := <-t.token", "t.token <- d")
		s.gap = []stmt{release("t.token <- d", lockRW), acquire("d = <-t.token", lockRW)}
	case both:
		s.twoLocks(f, reads|writes)
	}
	if f == unlocked {
		s.open, s.shut = nil, nil
	}
	return s
}

// twoLocks takes the lock of x, and that of the others.
func (s *section) twoLocks(f fault, used component) {
	mu, other := acquire("t.mu.Lock()", lockMu), acquire("t.other.Lock()", lockOther)
	if used&dataX != 0 {
		s.open = append(s.open, mu)
		s.shut = append(s.shut, release("t.mu.Unlock()", lockMu))
	}
	if used&^dataX != 0 && (f != oneLock || used&dataX == 0) {
		s.open = append(s.open, other)
		s.shut = append(s.shut, release("t.other.Unlock()", lockOther))
	}
	if f == inverse {
		slices.Reverse(s.open)
	}
}

// source writes type number i of a package.
func (t *generatedType) source(b *strings.Builder, i int) {
	fmt.Fprintf(b, "type T%d struct{ base }\n\nfunc newT%[1]d() *T%[1]d {\nt := new(T%[1]d)\n"+
		"t.ready()\nreturn t\n}\n\n", i)
	fmt.Fprintf(b, "type M%d struct{ base }\n\nfunc newM%[1]d() *M%[1]d {\nt := new(M%[1]d)\n"+
		"t.ready()\nreturn t\n}\n\n", i)
	for k, m := range t.methods {
		fmt.Fprintf(b, "func (t *T%d) %c(k int) (r int) {\n%sreturn\n}\n\n", i, 'A'+k, m.text)
		if t.modeled {
			const text = "func (t *M%d) %c(k int) (r int) {\nd := &t.d\n_ = d\n%sreturn\n}\n\n"
			fmt.Fprintf(b, text, i, 'A'+k, m.model)
		}
	}
}

// plan writes the call of check.Linearizable for type number i.
func (t *generatedType) plan(b *strings.Builder, i int) {
	fmt.Fprintf(b, "check.Linearizable(t, newT%d", i)
	as := func(name string) {
		if t.modeled {
			fmt.Fprintf(b, ".As((*M%d).%s)", i, name)
		}
	}
	if t.modeled {
		fmt.Fprintf(b, ", check.Model(newM%d)", i)
	}
	for k, m := range t.methods {
		name := string(rune('A' + k))
		fmt.Fprintf(b, ",\ncheck.Op(%q, (*T%d).%s).Silent()", name, i, name)
		as(name)
		if m.mayWait {
			b.WriteString(".MayWait()")
		}
	}
	fmt.Fprintf(b, ",\ncheck.Op(\"State\", (*T%d).State)", i)
	as("State")
	b.WriteString(")\n")
}
