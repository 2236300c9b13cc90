package model

import (
	"fmt"
	"math/bits"
	"reflect"
	"strings"

	"cpor/system"
)

// Var is a shared variable. A step reads and writes it with Get and Set.
type Var[T comparable] struct {
	place
	m     *machine
	first system.Loc // of its cells
}

// NewVar declares a shared variable with its first value. Its name is for traces.
func NewVar[T comparable](b *Builder, name string, value T) *Var[T] {
	m := b.building("NewVar")
	v := &Var[T]{m: m, place: place{codec: codecOf[T](m, name, 0)}}
	v.first = m.declare(name, v.widths, func(words []uint64) string {
		return show(load[T](words, &v.place))
	})
	m.lay = append(m.lay, func() { v.locate(m, m.cellsOf(v.first, len(v.widths)), nil) })
	m.begin = append(m.begin, func() { v.assign(value) })
	return v
}

// NewVars declares n shared variables with the same first value: name[0], name[1], ...
func NewVars[T comparable](b *Builder, name string, n int, value T) []*Var[T] {
	vs := make([]*Var[T], n)
	for i := range vs {
		vs[i] = NewVar(b, element(name, i), value)
	}
	return vs
}

// Get returns the value. Properties may call it as well as steps.
func (v *Var[T]) Get() T {
	if v.m.watchReads {
		v.m.reads(v.first, len(v.widths))
	}
	return load[T](v.m.words, &v.place)
}

// Set changes the value.
func (v *Var[T]) Set(value T) {
	if v.m.watchWrites {
		v.m.sets(v.first, len(v.widths), raw(v.codec, &value, 0))
	}
	v.assign(value)
}

func (v *Var[T]) assign(value T) {
	for i, c := range v.cells {
		v.m.put(c, raw(v.codec, &value, i))
	}
}

// Local is a variable of one process, which no other process and no property can see, so that its
// reads and writes depend on nothing. It lives in the block of [Process.Loop], [Process.While] or
// [Process.If] in which it is declared: at the end of a pass it has its first value again.
type Local[T comparable] struct {
	place
	p     *Process
	name  string
	value T // the first
}

// NewLocal declares a variable of a process, with its first value.
func NewLocal[T comparable](p *Process, name string, value T) *Local[T] {
	m := p.building("NewLocal")
	l := &Local[T]{p: p, name: name, value: value,
		place: place{codec: codecOf[T](m, name, 0)}}
	at := p.reserve(l.widths)
	m.lay = append(m.lay, func() { l.locate(m, p.cellsOf(at, len(l.widths)), &p.pc) })
	p.locals = append(p.locals, local{name: name, scope: p.scope,
		reset: func() { l.assign(l.value) },
		show:  func() string { return show(load[T](m.words, &l.place)) }})
	return l
}

// Get returns the value.
func (l *Local[T]) Get() T {
	l.check()
	return load[T](l.p.m.words, &l.place)
}

// Set changes the value.
func (l *Local[T]) Set(value T) {
	l.check()
	if m := l.p.m; m.mode != stepping {
		panic(m.misuse("Set of the local variable %s outside of a step", l.name))
	}
	l.assign(value)
}

// Clear gives the variable its first value again. States that differ only in the values of
// variables that are not needed any more become equal by that.
func (l *Local[T]) Clear() { l.Set(l.value) }

func (l *Local[T]) check() {
	m := l.p.m
	if m.cur != l.p.thread {
		panic(m.misuse("the local variable %s of %s is used outside of its steps; make it a "+
			"shared variable (NewVar)", l.name, l.p.name))
	}
	m.used = true
}

func (l *Local[T]) assign(value T) {
	for i, c := range l.cells {
		l.p.m.put(c, raw(l.codec, &value, i))
	}
}

// Chan is a channel with room for some values, first in, first out. Sends by one process and
// receives by another are independent while the channel is neither full nor empty.
type Chan[T comparable] struct {
	queue
	m       *machine
	slots   []place
	meeting *meeting // of a channel without a buffer
}

// queue is a channel without the type of its values. A slot's first cell has a mark in its
// lowest bit, which says that there is a value. With one slot there are no indices.
type queue struct {
	name       string
	head, tail system.Loc // if there are several slots
	slot       system.Loc // the first cell of the first one
	number     int
	per        int // cells of a slot
	n          int // slots
}

// NewChan declares a channel that is empty at first. With capacity 0 it has no buffer: a send and a
// receive wait for each other, as in Go. Then Send or Receive must be the first thing in its step
// that is shared; the process offers it, and continues with the rest of the step when the other
// side was there. TrySend and TryReceive succeed if the other side waits.
func NewChan[T comparable](b *Builder, name string, capacity int) *Chan[T] {
	m := b.building("NewChan")
	if capacity < 0 || capacity > 1<<16 {
		panic(m.mistake("channel %s: a capacity of %d is not possible; it must be at least 0 "+
			"and at most 65536", name, capacity))
	}
	if capacity == 0 {
		return newMeeting[T](m, name)
	}
	c := codecOf[T](m, name, 1)
	ch := &Chan[T]{m: m, queue: queue{name: name, n: capacity, per: len(c.widths)},
		slots: make([]place, capacity)}
	if capacity > 1 {
		width := []int{bits.Len(uint(capacity - 1))}
		ch.head = m.declare("", width, nil)
		ch.tail = m.declare("", width, nil)
	}
	for i := range ch.slots {
		s := &ch.slots[i]
		s.codec = c
		first := m.declare(element(name, i), c.widths, func(words []uint64) string {
			if s.cells[0].get(words)&1 == 0 {
				return "empty"
			}
			return show(load[T](words, s))
		})
		if i == 0 {
			ch.slot = first
		}
		m.lay = append(m.lay, func() {
			cells := m.cellsOf(first, len(c.widths))
			s.locate(m, cells, &cell{cells[0].word, cells[0].shift, 1})
		})
	}
	m.queues = append(m.queues, &ch.queue)
	m.contents = append(m.contents, contents{name, ch.slot, ch.text})
	return ch
}

// NewChans declares n channels: name[0], name[1], ...
func NewChans[T comparable](b *Builder, name string, n, capacity int) []*Chan[T] {
	cs := make([]*Chan[T], n)
	for i := range cs {
		cs[i] = NewChan[T](b, element(name, i), capacity)
	}
	return cs
}

// text returns the contents. It is not for steps, which record what they read.
func (c *Chan[T]) text() string {
	var b strings.Builder
	head := c.m.index(&c.queue, c.head)
	for i := range c.slots {
		s := &c.slots[(head+i)%c.n]
		if s.cells[0].get(c.m.words)&1 == 0 {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(show(load[T](c.m.words, s)))
	}
	return "[" + b.String() + "]"
}

// Send appends a value. The step is blocked while the channel is full.
func (c *Chan[T]) Send(value T) {
	if c.meeting != nil {
		c.sendNow(value, false)
		return
	}
	if !c.m.ready(&c.queue, true) {
		panic(blockedStep)
	}
	c.append(value)
}

// TrySend is Send if the channel has room; otherwise it returns false.
func (c *Chan[T]) TrySend(value T) bool {
	if c.meeting != nil {
		return c.sendNow(value, true)
	}
	c.m.uses(&c.queue, looks)
	c.m.uses(&c.queue, sends)
	if c.m.full(&c.queue, c.tail) {
		return false
	}
	c.append(value)
	return true
}

func (c *Chan[T]) append(value T) {
	m := c.m
	m.stepping()
	i := m.advance(&c.queue, c.tail)
	s := &c.slots[i]
	for k, cl := range s.cells {
		v := raw(s.codec, &value, k)
		if k == 0 {
			v |= 1
		}
		m.write(c.slot+system.Loc(i*c.per+k), cl, v)
	}
	if m.narrate {
		m.tell(system.Deed{Kind: system.Send, Channel: c.name, Value: show(value),
			Text: fmt.Sprintf("send %s to %s", show(value), c.name), Object: uint64(c.slot),
			Place: m.count(&c.queue) - 1})
	}
}

// Receive takes the oldest value out. The step is blocked while the channel is empty.
func (c *Chan[T]) Receive() T {
	if c.meeting != nil {
		value, _ := c.receiveNow(false)
		return value
	}
	if !c.m.ready(&c.queue, false) {
		panic(blockedStep)
	}
	return c.take()
}

// TryReceive is Receive if the channel is not empty; otherwise it returns false.
func (c *Chan[T]) TryReceive() (value T, ok bool) {
	if c.meeting != nil {
		return c.receiveNow(true)
	}
	c.m.uses(&c.queue, looks)
	c.m.uses(&c.queue, receives)
	if !c.m.full(&c.queue, c.head) {
		return value, false
	}
	return c.take(), true
}

func (c *Chan[T]) take() T {
	m := c.m
	m.stepping()
	i := m.advance(&c.queue, c.head)
	s := &c.slots[i]
	value := load[T](m.words, s)
	for k, cl := range s.cells {
		m.write(c.slot+system.Loc(i*c.per+k), cl, 0)
	}
	if m.narrate {
		m.tell(system.Deed{Kind: system.Receive, Channel: c.name, Value: show(value),
			Text:   fmt.Sprintf("receive %s from %s", show(value), c.name),
			Object: uint64(c.slot)})
	}
	return value
}

// Len returns how many values are in the channel. It depends on all sends and receives.
func (c *Chan[T]) Len() int {
	if c.meeting != nil {
		return 0
	}
	c.m.uses(&c.queue, looks)
	if c.m.watchReads {
		for i := range c.n {
			c.m.reads(c.slot+system.Loc(i*c.per), 1)
		}
	}
	return c.m.count(&c.queue)
}

// Mutex is a lock that one process at a time owns.
type Mutex struct {
	m    *machine
	name string
	loc  system.Loc
	cell cell
}

// NewMutex declares a mutex that nobody owns at first.
func NewMutex(b *Builder, name string) *Mutex {
	m := b.building("NewMutex")
	mu := &Mutex{m: m, name: name}
	// The number of processes is not known yet.
	mu.loc = m.declare(name, []int{ownerBits}, func(words []uint64) string {
		return m.ownerName(mu.cell.get(words))
	})
	m.lay = append(m.lay, func() { mu.cell = m.cellsOf(mu.loc, 1)[0] })
	m.mutexes = append(m.mutexes, mu)
	return mu
}

// NewMutexes declares n mutexes: name[0], name[1], ...
func NewMutexes(b *Builder, name string, n int) []*Mutex {
	ms := make([]*Mutex, n)
	for i := range ms {
		ms[i] = NewMutex(b, element(name, i))
	}
	return ms
}

// Lock takes the mutex. The step is blocked while another process owns it; to lock it twice
// blocks forever.
func (mu *Mutex) Lock() {
	if !mu.m.unlocked(mu) {
		panic(blockedStep)
	}
	mu.m.write(mu.loc, mu.cell, uint64(mu.m.cur+1))
}

// TryLock is Lock if nobody owns the mutex; otherwise it returns false.
func (mu *Mutex) TryLock() bool {
	mu.m.stepping()
	mu.m.readOne(mu.loc)
	if mu.cell.get(mu.m.words) != 0 {
		return false
	}
	mu.m.write(mu.loc, mu.cell, uint64(mu.m.cur+1))
	return true
}

// Unlock gives the mutex back. If the process does not own it, that is a violation.
func (mu *Mutex) Unlock() {
	m := mu.m
	m.stepping()
	m.readOne(mu.loc)
	if o := mu.cell.get(m.words); o != uint64(m.cur+1) {
		panic(m.misuse("unlock of %s, which %s (what others may release is a channel with "+
			"capacity 1)", mu.name, m.holds(o)))
	}
	m.write(mu.loc, mu.cell, 0)
}

// Locked reports whether some process owns the mutex.
func (mu *Mutex) Locked() bool {
	if mu.m.watchReads {
		mu.m.reads(mu.loc, 1)
	}
	return mu.cell.get(mu.m.words) != 0
}

// ownerBits is the width of the owner of a mutex: the number of a process plus 1.
const ownerBits = 8

// maxProcesses bounds how many processes there can be.
const maxProcesses = 1<<ownerBits - 2

func element(name string, i int) string { return fmt.Sprintf("%s[%d]", name, i) }

func show(v any) string { return fmt.Sprint(v) }

func codecOf[T any](m *machine, name string, reserve int) *codec {
	t := reflect.TypeFor[T]()
	c, err := newCodec(t, reserve)
	if err != nil {
		panic(m.mistake("%s: %v", name, err))
	}
	return c
}
