package code

import (
	"sync"
	"sync/atomic"
)

// Later compiles a program in the background, once. The zero value has not begun.
type Later struct {
	once sync.Once
	done atomic.Pointer[result]
}

type result struct{ c *Compiled }

// Get returns the machine code if there is some by now. The first call begins to make it, of
// what emit returns: nil if the system is beyond the emitter. gone tells that there never will
// be any.
func (l *Later) Get(emit func() *Program) (c *Compiled, gone bool) {
	l.once.Do(func() {
		go func() {
			r := &result{}
			if p := emit(); p != nil {
				r.c, _ = p.Start()
			}
			l.done.Store(r)
		}()
	})
	r := l.done.Load()
	if r == nil {
		return nil, false
	}
	return r.c, r.c == nil
}
