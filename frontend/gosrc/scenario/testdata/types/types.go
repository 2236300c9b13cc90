// Package types has what the generated types of TestTypes share.
package types

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// data is what a type guards.
type data struct {
	x int
	m map[int]int
	l []int
}

func (d *data) clone() *data {
	return &data{d.x, maps.Clone(d.m), slices.Clone(d.l)}
}

// base is everything that the data can be guarded with, and what needs no guard.
type base struct {
	mu    sync.Mutex
	other sync.Mutex
	cond  *sync.Cond
	rw    sync.RWMutex
	sem   chan struct{}
	token chan *data
	p     atomic.Pointer[data]
	d     data

	a, b atomic.Int64
	sm   sync.Map
	ch   chan int
}

// ready makes what is not ready to use.
func (b *base) ready() {
	b.d.m = map[int]int{}
	b.cond = sync.NewCond(&b.mu)
	b.sem = make(chan struct{}, 1)
	b.token = make(chan *data, 1)
	b.token <- &b.d
	b.p.Store(&b.d)
	b.ch = make(chan int, 1)
}

// with calls f with the lock held.
func (b *base) with(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

// number writes what the calls in the end can see as one number, as these compare quickly.
func (d *data) number() int {
	n := 0
	for _, v := range d.l {
		n = 4*n + v + 1
	}
	n = 4*n + d.x
	for k := 1; k <= 2; k++ {
		n *= 4
		if v, ok := d.m[k]; ok {
			n += v + 1
		}
	}
	return n
}

// State is everything that can be seen. Nobody else uses the value then.
func (b *base) State() int {
	n := b.p.Load().number()
	n = 256*n + int(b.a.Load())
	n = 64*n + int(b.b.Load())
	n = 2*n + len(b.ch)
	for k := 1; k <= 2; k++ {
		n *= 64
		if v, ok := b.sm.Load(k); ok {
			n += v.(int) + 1
		}
	}
	return n
}
