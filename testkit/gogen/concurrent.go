package gogen

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Op is the kind of a step of a generated concurrent program.
type Op uint8

// The kinds. A step is one operation; those on plain variables are not
// synchronized.
const (
	Send        Op = iota // chan Obj <- Val
	Recv                  // reg = <-chan Obj
	Close                 // close(chan Obj)
	Select                // over Cases, with a default if Default
	Lock                  // mutex Obj
	Unlock                //
	TryLock               // reg = 1 and, as the next step but one, the unlock; or reg = 0
	WLock                 // RWMutex Obj, writing
	WUnlock               //
	RLock                 // RWMutex Obj, reading
	RUnlock               //
	AtomicAdd             // reg = atomic Obj += Val; without a register, nobody looks at the sum
	AtomicStore           // atomic Obj = Val
	AtomicLoad            // reg = atomic Obj
	AtomicCAS             // reg = 1 if atomic Obj was Val and became Val+1
	Read                  // reg = plain variable Obj
	Write                 // plain variable Obj = Val
	GroupAdd              // group Obj, one more
	GroupDone             // one less: the goroutine, or main before it began, has added it
	GroupWait             // for group Obj
	Done                  // the goroutine's last step: wg.Done()
	Wait                  // the main goroutine's last step: wg.Wait()
)

// Case is one case of a select statement: a send of Val or a receive.
type Case struct {
	Send      bool
	Chan, Val int
}

// Step is one operation. Its result, if it has one, goes into the goroutine's
// next free register; skipped results are 0.
type Step struct {
	Op       Op
	Obj, Val int
	Reg      int // -1: none
	Cases    []Case
	Default  bool
}

// Concurrent is a random program: goroutines that communicate, each a list of
// steps without loops. Goroutine 0 is main; it starts the others first, waits
// for them last, and prints every register and variable.
type Concurrent struct {
	Caps       []int // of the channels
	Mutexes    int
	RWMutexes  int
	Atomics    int
	Vars       int
	Groups     []int // WaitGroups: what main adds before it starts the others
	Goroutines [][]Step
	regs       int
}

// Shape says what a random program may have.
type Shape struct {
	Goroutines int  // beside main
	Steps      int  // at most, for each goroutine, without Done
	Vars       bool // plain variables, with or without a lock around
	Plain      bool // half of the steps access these without a lock
	Polls      bool // default cases and TryLock
	RW         bool
	Groups     bool // WaitGroups that are added to and waited for at any time
}

// NewConcurrent makes a random program.
func NewConcurrent(r *rand.Rand, s Shape) *Concurrent {
	p := &Concurrent{Mutexes: 1 + r.IntN(2), Atomics: 1 + r.IntN(2)}
	for range 1 + r.IntN(2) {
		p.Caps = append(p.Caps, r.IntN(3))
	}
	if s.RW {
		p.RWMutexes = 1
	}
	if s.Vars {
		p.Vars = 1 + r.IntN(2)
	}
	if s.Groups {
		p.Groups = []int{r.IntN(min(2, s.Goroutines) + 1)}
	}
	for g := range s.Goroutines + 1 {
		n := r.IntN(s.Steps + 1)
		if g > 0 {
			n = 1 + r.IntN(s.Steps)
		}
		var steps []Step
		for len(steps) < n {
			steps = append(steps, p.random(r, s, g)...)
		}
		for i, n := range p.Groups {
			if 0 < g && g <= n { // one of those that main has added
				steps = slices.Insert(steps, r.IntN(len(steps)+1),
					Step{Op: GroupDone, Obj: i, Reg: -1})
			}
		}
		last := Done
		if g == 0 {
			last = Wait
		}
		p.Goroutines = append(p.Goroutines, append(steps, Step{Op: last, Reg: -1}))
	}
	if s.Groups {
		p.handOver(r)
	}
	return p
}

// handOver lets one goroutine add to a WaitGroup, and another take that away when it has
// been told by a channel that is for nothing else.
func (p *Concurrent) handOver(r *rand.Rand) {
	from := r.IntN(len(p.Goroutines))
	to := (from + 1 + r.IntN(len(p.Goroutines)-1)) % len(p.Goroutines)
	ch := len(p.Caps)
	p.Caps = append(p.Caps, 1)
	insert := func(g int, steps ...Step) {
		at := r.IntN(len(p.Goroutines[g]))
		p.Goroutines[g] = slices.Insert(p.Goroutines[g], at, steps...)
	}
	insert(from, Step{Op: GroupAdd, Reg: -1}, Step{Op: Send, Obj: ch, Reg: -1})
	insert(to, Step{Op: Recv, Obj: ch, Reg: -1}, Step{Op: GroupDone, Reg: -1})
}

func (p *Concurrent) reg() int { p.regs++; return p.regs - 1 }

// random returns one step, or a few that belong together.
func (p *Concurrent) random(r *rand.Rand, s Shape, g int) []Step {
	ch, mu, at := r.IntN(len(p.Caps)), r.IntN(p.Mutexes), r.IntN(p.Atomics)
	val := 1 + g
	plain := func() Step {
		if r.IntN(2) == 0 {
			return Step{Op: Read, Obj: r.IntN(p.Vars), Reg: p.reg()}
		}
		return Step{Op: Write, Obj: r.IntN(p.Vars), Val: val, Reg: -1}
	}
	inner := func() Step {
		if s.Vars {
			return plain()
		}
		return Step{Op: AtomicAdd, Obj: at, Val: val, Reg: p.reg()}
	}
	k := r.IntN(22)
	if s.Plain && r.IntN(2) == 0 {
		k = 15
	}
	if k >= 20 { // counts or sets a flag, and tells others by that what it has done before
		steps := []Step{{Op: AtomicAdd, Obj: at, Val: val, Reg: -1}}
		if k == 21 {
			steps[0].Op, steps[0].Val = AtomicStore, 1+mu
		}
		if r.IntN(2) == 0 {
			steps = slices.Insert(steps, r.IntN(2), inner())
		}
		return steps
	}
	if s.Groups && r.IntN(3) == 0 {
		if r.IntN(2) == 0 {
			return []Step{{Op: GroupWait, Reg: -1}}
		}
		steps := []Step{{Op: GroupAdd, Reg: -1}, {Op: GroupDone, Reg: -1}}
		if r.IntN(2) == 0 {
			steps = slices.Insert(steps, 1, inner())
		}
		return steps
	}
	switch {
	case k < 3:
		return []Step{{Op: Send, Obj: ch, Val: val, Reg: -1}}
	case k < 6:
		return []Step{{Op: Recv, Obj: ch, Reg: p.reg()}}
	case k < 7:
		return []Step{{Op: Close, Obj: ch, Reg: -1}}
	case k < 9:
		st := Step{Op: Select, Reg: p.reg(), Default: s.Polls && r.IntN(2) == 0}
		for i := range 1 + r.IntN(2) {
			st.Cases = append(st.Cases, Case{Send: r.IntN(2) == 0, Chan: r.IntN(len(p.Caps)),
				Val: val*10 + i})
		}
		return []Step{st}
	case k < 11:
		return []Step{{Op: Lock, Obj: mu, Reg: -1}, inner(), {Op: Unlock, Obj: mu, Reg: -1}}
	case k < 12 && p.Mutexes > 1:
		return []Step{{Op: Lock, Obj: mu, Reg: -1}, {Op: Lock, Obj: 1 - mu, Reg: -1},
			{Op: Unlock, Obj: 1 - mu, Reg: -1}, {Op: Unlock, Obj: mu, Reg: -1}}
	case k < 13 && s.Polls:
		return []Step{{Op: TryLock, Obj: mu, Reg: p.reg()}}
	case k < 14 && s.RW:
		return []Step{{Op: WLock, Reg: -1}, inner(), {Op: WUnlock, Reg: -1}}
	case k < 15 && s.RW:
		if s.Vars {
			return []Step{{Op: RLock, Reg: -1}, {Op: Read, Obj: r.IntN(p.Vars), Reg: p.reg()},
				{Op: RUnlock, Reg: -1}}
		}
		return []Step{{Op: RLock, Reg: -1}, {Op: AtomicLoad, Obj: at, Reg: p.reg()},
			{Op: RUnlock, Reg: -1}}
	case k < 16 && s.Vars:
		return []Step{plain()}
	case k < 17:
		return []Step{{Op: AtomicCAS, Obj: at, Val: r.IntN(2), Reg: p.reg()}}
	case k < 18:
		return []Step{{Op: AtomicLoad, Obj: at, Reg: p.reg()}}
	}
	return []Step{{Op: AtomicAdd, Obj: at, Val: val, Reg: p.reg()}}
}

// Source returns the program as Go.
func (p *Concurrent) Source() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("package main\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n)\n")
	line("func main() {")
	line("\tvar wg sync.WaitGroup")
	for i, c := range p.Caps {
		line("\tc%d := make(chan int, %d)", i, c)
	}
	for i := range p.Mutexes {
		line("\tvar m%d sync.Mutex", i)
	}
	for i := range p.RWMutexes {
		line("\tvar w%d sync.RWMutex", i)
	}
	for i := range p.Atomics {
		line("\tvar a%d atomic.Int64", i)
	}
	for i := range p.Vars {
		line("\tv%d := 0", i)
	}
	line("\tvar r [%d]int", max(1, p.regs))
	for i, n := range p.Groups {
		line("\tvar g%d sync.WaitGroup\n\tg%d.Add(%d)", i, i, n)
	}
	line("\twg.Add(%d)", len(p.Goroutines)-1)
	for _, steps := range p.Goroutines[1:] {
		line("\tgo func() {")
		p.body(line, "\t\t", steps)
		line("\t}()")
	}
	p.body(line, "\t", p.Goroutines[0])
	line("\tfor _, x := range r {\n\t\tprint(x, \" \")\n\t}")
	for i := range p.Atomics {
		line("\tprint(a%d.Load(), \" \")", i)
	}
	for i := range p.Vars {
		line("\tprint(v%d, \" \")", i)
	}
	for i := range p.Caps {
		line("\tprint(len(c%d), \" \")", i)
	}
	for i := range p.Mutexes {
		line("\t_ = &m%d", i)
	}
	for i := range p.RWMutexes {
		line("\t_ = &w%d", i)
	}
	line("\tprintln()\n}")
	return b.String()
}

func (p *Concurrent) body(line func(string, ...any), in string, steps []Step) {
	for _, s := range steps {
		switch s.Op {
		case Send:
			line(in+"c%d <- %d", s.Obj, s.Val)
		case Recv:
			if s.Reg < 0 {
				line(in+"<-c%d", s.Obj)
			} else {
				line(in+"r[%d] = <-c%d", s.Reg, s.Obj)
			}
		case Close:
			line(in+"close(c%d)", s.Obj)
		case Select:
			line(in + "select {")
			for i, c := range s.Cases {
				if c.Send {
					line(in+"case c%d <- %d:", c.Chan, c.Val)
					line(in+"\tr[%d] = %d", s.Reg, -1-i)
				} else {
					line(in+"case r[%d] = <-c%d:", s.Reg, c.Chan)
				}
			}
			if s.Default {
				line(in+"default:\n"+in+"\tr[%d] = -9", s.Reg)
			}
			line(in + "}")
		case Lock:
			line(in+"m%d.Lock()", s.Obj)
		case Unlock:
			line(in+"m%d.Unlock()", s.Obj)
		case TryLock:
			line(in+"if m%d.TryLock() {\n"+in+"\tr[%d] = 1\n"+in+"\tm%d.Unlock()\n"+in+"}", s.Obj,
				s.Reg, s.Obj)
		case WLock:
			line(in+"w%d.Lock()", s.Obj)
		case WUnlock:
			line(in+"w%d.Unlock()", s.Obj)
		case RLock:
			line(in+"w%d.RLock()", s.Obj)
		case RUnlock:
			line(in+"w%d.RUnlock()", s.Obj)
		case AtomicAdd:
			if s.Reg < 0 {
				line(in+"a%d.Add(%d)", s.Obj, s.Val)
			} else {
				line(in+"r[%d] = int(a%d.Add(%d))", s.Reg, s.Obj, s.Val)
			}
		case AtomicStore:
			line(in+"a%d.Store(%d)", s.Obj, s.Val)
		case AtomicLoad:
			line(in+"r[%d] = int(a%d.Load())", s.Reg, s.Obj)
		case AtomicCAS:
			line(in+"if a%d.CompareAndSwap(%d, %d) {\n"+in+"\tr[%d] = 1\n"+in+"}", s.Obj, s.Val,
				s.Val+1, s.Reg)
		case Read:
			line(in+"r[%d] = v%d", s.Reg, s.Obj)
		case Write:
			line(in+"v%d = %d", s.Obj, s.Val)
		case GroupAdd:
			line(in+"g%d.Add(1)", s.Obj)
		case GroupDone:
			line(in+"g%d.Done()", s.Obj)
		case GroupWait:
			line(in+"g%d.Wait()", s.Obj)
		case Done:
			line(in + "wg.Done()")
		case Wait:
			line(in + "wg.Wait()")
		}
	}
}
