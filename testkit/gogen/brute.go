package gogen

import (
	"encoding/binary"
	"fmt"
	"strings"

	"cpor/testkit/gotable"
)

// Brute is the result of the brute force for a program.
type Brute struct {
	// Outcomes of all interleavings at the granularity of memory accesses, as the
	// program prints them. A race is not among them: see Race.
	Outcomes map[gotable.Outcome]bool
	// Race tells that in some interleaving two goroutines are about to access
	// the same plain variable, one of them writing, or one to add to a WaitGroup
	// at zero and the other to wait for it.
	Race   bool
	States int
}

// state is a global state of the model. A goroutine parked at a channel operation waits for a
// partner that completes it; a select with default only takes parked goroutines as partners.
type state struct {
	pc     []int
	phase  []int // 0: about to begin the step; 1: parked, announced or holding (TryLock)
	chans  [][]int
	closed []bool
	mutex  []bool
	writer []int // RWMutex: 0 nobody, 1 + g: announced, held if held
	held   []bool
	reader []int
	atomic []int
	vars   []int
	groups []int
	regs   []int
	alive  int
}

func clone[T any](xs []T) []T { return append([]T(nil), xs...) }

func (s *state) clone() *state {
	c := *s
	c.pc, c.phase, c.closed, c.mutex = clone(s.pc), clone(s.phase), clone(s.closed), clone(s.mutex)
	c.writer, c.held, c.reader, c.atomic = clone(s.writer), clone(s.held), clone(s.reader),
		clone(s.atomic)
	c.vars, c.groups, c.regs = clone(s.vars), clone(s.groups), clone(s.regs)
	c.chans = make([][]int, len(s.chans))
	for i := range c.chans {
		c.chans[i] = clone(s.chans[i])
	}
	return &c
}

func (s *state) key() string {
	var b []byte
	put := func(xs ...int) {
		for _, x := range xs {
			b = binary.AppendVarint(b, int64(x))
		}
		b = append(b, 0xff)
	}
	put(s.pc...)
	put(s.phase...)
	for _, c := range s.chans {
		put(c...)
	}
	flags := func(xs []bool) {
		for _, x := range xs {
			if x {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
	}
	flags(s.closed)
	flags(s.mutex)
	flags(s.held)
	put(s.writer...)
	put(s.reader...)
	put(s.atomic...)
	put(s.vars...)
	put(s.groups...)
	put(s.regs...)
	put(s.alive)
	return string(b)
}

// BruteForce explores every interleaving, storing states. It shares nothing with
// the machine: it is written from the language's specification and the
// documentation of sync. ok is false if there are more than limit states.
func (p *Concurrent) BruteForce(limit int) (res Brute, ok bool) {
	n := len(p.Goroutines)
	start := &state{
		pc: make([]int, n), phase: make([]int, n), chans: make([][]int, len(p.Caps)),
		closed: make([]bool, len(p.Caps)),
		mutex:  make([]bool, p.Mutexes), writer: make([]int, p.RWMutexes),
		held: make([]bool, p.RWMutexes), reader: make([]int, p.RWMutexes),
		atomic: make([]int, p.Atomics), vars: make([]int, p.Vars), groups: clone(p.Groups),
		regs: make([]int, max(1, p.regs)), alive: n - 1,
	}
	res.Outcomes = map[gotable.Outcome]bool{}
	seen := map[string]bool{start.key(): true}
	work := []*state{start}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		res.Race = res.Race || p.racing(s)
		next, ended := p.successors(s)
		for _, o := range ended {
			res.Outcomes[o] = true
		}
		if len(next) == 0 && len(ended) == 0 {
			res.Outcomes[gotable.NewOutcome("", "deadlock")] = true
		}
		for _, t := range next {
			if k := t.key(); !seen[k] {
				if len(seen) >= limit {
					return res, false
				}
				seen[k] = true
				work = append(work, t)
			}
		}
	}
	res.States = len(seen)
	return res, true
}

// next returns the next step of a goroutine, or nil.
func (p *Concurrent) next(s *state, g int) *Step {
	if s.pc[g] < len(p.Goroutines[g]) {
		return &p.Goroutines[g][s.pc[g]]
	}
	return nil
}

func (p *Concurrent) racing(s *state) bool {
	for g := range p.Goroutines {
		a := p.next(s, g)
		if a != nil && a.Op == GroupAdd && s.groups[a.Obj] == 0 {
			for h := range p.Goroutines {
				if b := p.next(s, h); b != nil && b.Op == GroupWait && b.Obj == a.Obj {
					return true
				}
			}
		}
		if a == nil || a.Op != Read && a.Op != Write {
			continue
		}
		for h := range g {
			b := p.next(s, h)
			if b != nil && (b.Op == Read || b.Op == Write) && a.Obj == b.Obj &&
				(a.Op == Write || b.Op == Write) {
				return true
			}
		}
	}
	return false
}

// successors returns the states after one step of anybody, and the outcomes
// of steps that end the program.
func (p *Concurrent) successors(s *state) (next []*state, ended []gotable.Outcome) {
	panics := func(text string) { ended = append(ended, gotable.NewOutcome("", "panic: "+text)) }
	for g := range p.Goroutines {
		st := p.next(s, g)
		if st == nil {
			continue
		}
		step := func(f func(t *state)) {
			t := s.clone()
			t.pc[g]++
			t.phase[g] = 0
			f(t)
			next = append(next, t)
		}
		set := func(t *state, v int) {
			if st.Reg >= 0 {
				t.regs[st.Reg] = v
			}
		}
		switch st.Op {
		case Send, Recv, Select:
			if s.phase[g] == 1 {
				continue // a partner, or close, completes it
			}
			cases := casesOf(st)
			ready := false
			for i, c := range cases {
				switch {
				case c.Send && s.closed[c.Chan]:
					ready = true
					panics("send on closed channel")
				case c.Send && len(s.chans[c.Chan]) < p.Caps[c.Chan]:
					ready = true
					step(func(t *state) {
						t.chans[c.Chan] = append(t.chans[c.Chan], c.Val)
						set(t, sentValue(st, i))
						p.settle(t)
					})
				case !c.Send && len(s.chans[c.Chan]) > 0:
					ready = true
					step(func(t *state) {
						set(t, t.chans[c.Chan][0])
						t.chans[c.Chan] = t.chans[c.Chan][1:]
						p.settle(t)
					})
				case !c.Send && s.closed[c.Chan]:
					ready = true
					step(func(t *state) { set(t, 0) })
				default:
					for h := range p.Goroutines {
						if h == g || s.phase[h] != 1 {
							continue
						}
						other := p.next(s, h)
						if other == nil {
							continue
						}
						for j, d := range casesOf(other) {
							if d.Chan != c.Chan || d.Send == c.Send {
								continue
							}
							ready = true
							step(func(t *state) {
								t.pc[h]++
								t.phase[h] = 0
								if c.Send {
									set(t, sentValue(st, i))
									if other.Reg >= 0 {
										t.regs[other.Reg] = c.Val
									}
								} else {
									set(t, d.Val)
									if other.Reg >= 0 {
										t.regs[other.Reg] = sentValue(other, j)
									}
								}
							})
						}
					}
				}
			}
			switch {
			case ready:
			case st.Default:
				step(func(t *state) { set(t, -9) })
			default:
				t := s.clone()
				t.phase[g] = 1
				next = append(next, t)
			}
		case Close:
			if s.closed[st.Obj] {
				panics("close of closed channel")
				continue
			}
			// Who has parked there looks again, and finds it closed.
			step(func(t *state) {
				t.closed[st.Obj] = true
				p.settle(t)
			})
		case Lock:
			if !s.mutex[st.Obj] {
				step(func(t *state) { t.mutex[st.Obj] = true })
			}
		case Unlock:
			if !s.mutex[st.Obj] {
				ended = append(ended,
					gotable.NewOutcome("", "fatal: sync: unlock of unlocked mutex"))
				continue
			}
			step(func(t *state) { t.mutex[st.Obj] = false })
		case TryLock:
			switch {
			case s.phase[g] == 1:
				step(func(t *state) { t.mutex[st.Obj] = false })
			case s.mutex[st.Obj]:
				step(func(*state) {})
			default:
				t := s.clone()
				t.mutex[st.Obj], t.phase[g] = true, 1
				if st.Reg >= 0 {
					t.regs[st.Reg] = 1
				}
				next = append(next, t)
			}
		case WLock:
			switch {
			case s.writer[st.Obj] == 0: // announce: keeps new readers out
				t := s.clone()
				t.writer[st.Obj], t.phase[g] = 1+g, 1
				next = append(next, t)
			case s.writer[st.Obj] == 1+g && s.phase[g] == 1 && s.reader[st.Obj] == 0:
				step(func(t *state) { t.held[st.Obj] = true })
			}
		case WUnlock:
			step(func(t *state) { t.writer[st.Obj], t.held[st.Obj] = 0, false })
		case RLock:
			if s.writer[st.Obj] == 0 {
				step(func(t *state) { t.reader[st.Obj]++ })
			}
		case RUnlock:
			step(func(t *state) { t.reader[st.Obj]-- })
		case AtomicAdd:
			step(func(t *state) { t.atomic[st.Obj] += st.Val; set(t, t.atomic[st.Obj]) })
		case AtomicStore:
			step(func(t *state) { t.atomic[st.Obj] = st.Val })
		case AtomicLoad:
			step(func(t *state) { set(t, t.atomic[st.Obj]) })
		case AtomicCAS:
			step(func(t *state) {
				if t.atomic[st.Obj] == st.Val {
					t.atomic[st.Obj]++
					set(t, 1)
				}
			})
		case Read:
			step(func(t *state) { set(t, t.vars[st.Obj]) })
		case Write:
			step(func(t *state) { t.vars[st.Obj] = st.Val })
		case GroupAdd:
			step(func(t *state) { t.groups[st.Obj]++ })
		case GroupDone:
			step(func(t *state) { t.groups[st.Obj]-- })
		case GroupWait:
			if s.groups[st.Obj] == 0 {
				step(func(*state) {})
			}
		case Done:
			step(func(t *state) { t.alive-- })
		case Wait:
			if s.alive == 0 {
				ended = append(ended, gotable.NewOutcome(p.print(s), ""))
			}
		}
	}
	return next, ended
}

// settle lets goroutines that have parked at channels look again. It is called
// when a channel was closed or a buffer has changed, where the run-time would
// serve one of them at once (a value, a place), or all (closed).
//
// To look again loses no outcome: the goroutine finds what it would have been
// given if nobody is faster. It adds none: that a goroutine has parked is seen by
// nobody, so it might as well have come only now.
func (p *Concurrent) settle(t *state) {
	for h := range p.Goroutines {
		if o := p.next(t, h); t.phase[h] == 1 && o != nil && (o.Op == Send || o.Op == Recv ||
			o.Op == Select) {
			t.phase[h] = 0
		}
	}
}

func casesOf(s *Step) []Case {
	switch s.Op {
	case Send:
		return []Case{{Send: true, Chan: s.Obj, Val: s.Val}}
	case Recv:
		return []Case{{Chan: s.Obj}}
	case Select:
		return s.Cases
	}
	return nil
}

// sentValue is what a register gets when case i, a send, is taken.
func sentValue(s *Step, i int) int {
	if s.Op == Select {
		return -1 - i
	}
	return 0
}

// print is what the program prints at its end.
func (p *Concurrent) print(s *state) string {
	var b strings.Builder
	for _, x := range s.regs {
		fmt.Fprint(&b, x, " ")
	}
	for _, x := range s.atomic {
		fmt.Fprint(&b, x, " ")
	}
	for _, x := range s.vars {
		fmt.Fprint(&b, x, " ")
	}
	for _, c := range s.chans {
		fmt.Fprint(&b, len(c), " ")
	}
	return b.String()
}
