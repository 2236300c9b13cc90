package machine

import (
	"cmp"
	"fmt"
	gotoken "go/token"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// native is a function that the machine itself performs. The registers begin with the parameters,
// followed by the results. A native that synchronizes has alts and sync: how many ways there are to
// take it now (0: it is blocked), and one of them.
type native struct {
	name string
	run  func(m *Machine, g *goroutine, r []uint64)
	alts func(m *Machine, g *goroutine, r []uint64) int
	sync func(m *Machine, g *goroutine, r []uint64, which int)
	// oneWord: it touches only the word that its first argument points to, and is never blocked.
	// varies says that its kind of access varies.
	oneWord, varies bool
	memory          bool // its first argument is the address of what it synchronizes by
	// lock: who is blocked there waits for a lock, which in a bubble of testing/synctest is not
	// durable: time does not pass.
	lock bool
}

var natives []native

var nativeByName = map[string]int{}

func enter(n native) {
	if _, ok := nativeByName[n.name]; ok {
		panic("machine: two natives " + n.name)
	}
	n.oneWord = strings.HasPrefix(n.name, "sync/atomic.") || n.name == "internal/cpor.Point"
	n.varies = strings.Contains(n.name, "CompareAndSwap")
	n.memory = n.oneWord || strings.HasPrefix(n.name, "(*sync.") || strings.HasPrefix(n.name,
		"sync.")
	nativeByName[n.name] = len(natives)
	natives = append(natives, n)
}

// lookupNative finds a native function for package compile.
func lookupNative(name string) (number int, sync, ok bool) {
	enterNatives()
	i, ok := nativeByName[name]
	if !ok {
		return 0, false, false
	}
	return i, natives[i].sync != nil, true
}

// draws are the natives that draw a random number: ours, and functions of package
// runtime that packages link to, by the number of words before their result.
var draws = map[string]int{
	"internal/cpor.Rand": 0, "runtime.fastrand": 0, "runtime.fastrand64": 0, "runtime.cheaprand": 0,
	"runtime.rand":      0,
	"runtime.fastrandn": 1, "runtime.cheaprandn": 1,
}

// drawsRandom reports whether an instruction draws a random number.
func drawsRandom(i *compile.Instr) bool {
	if i.Op != compile.Sync {
		return false
	}
	_, ok := draws[natives[i.N].name]
	return ok
}

// MaxPick is the greatest n such that a random number below n is explored, if numbers are.
const MaxPick = 100

func always(m *Machine, g *goroutine, r []uint64) int { return 1 }

// enterNatives fills in natives when the first of them is looked up, so that other languages do
// not pay for it.
var enterNatives = sync.OnceFunc(func() {
	plain := func(name string, run func(m *Machine, g *goroutine, r []uint64)) {
		enter(native{name: name, run: run})
	}

	// Locks. The first word of a mutex is the number of its holder plus one.
	enter(native{name: "(*sync.Mutex).Lock", lock: true,
		alts: func(m *Machine, g *goroutine, r []uint64) int {
			if r[0]>>32 == 0 {
				return 1
			}
			m.touchWord(r[0], false)
			return int(flag(m.mem[m.addr(r[0])] == 0))
		},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.put(r[0], uint64(g.number)+1)
			m.acquire(g, r[0])
		}})
	enter(native{name: "(*sync.Mutex).TryLock", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.touchWord(r[0], false)
			r[1] = flag(m.mem[m.addr(r[0])] == 0)
			if r[1] == 1 {
				m.put(r[0], uint64(g.number)+1)
				m.acquire(g, r[0])
			}
		}})
	enter(native{name: "(*sync.Mutex).Unlock", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.touchWord(r[0], true)
			if m.mem[m.addr(r[0])] == 0 {
				m.fatal(g, "sync: unlock of unlocked mutex")
				return
			}
			m.put(r[0], 0)
			m.release(g, r[0])
		}})

	// RWMutex: the writer that has announced itself plus one, whether it has the lock,
	// and the shares of the readers.
	enter(native{name: "sync.rwAnnounce", lock: true,
		alts: func(m *Machine, g *goroutine, r []uint64) int {
			if r[0]>>32 == 0 {
				return 1
			}
			m.touchWord(r[0], false)
			return int(flag(m.mem[m.addr(r[0])] == 0))
		},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.put(r[0], uint64(g.number)+1)
			m.acquire(g, r[0])
		}})
	enter(native{name: "sync.rwLock", lock: true,
		alts: func(m *Machine, g *goroutine, r []uint64) int {
			return int(flag(m.noShares(g, r[0]+rwReaders)))
		},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			m.put(r[0]+rwHeld, 1)
			m.acquire(g, r[0]+rwReaders)
		}})
	enter(native{name: "(*sync.RWMutex).TryLock", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.touchWord(r[0], false)
			r[1] = 0
			if m.mem[m.addr(r[0])] == 0 && m.noShares(g, r[0]+rwReaders) {
				m.put(r[0], uint64(g.number)+1)
				m.put(r[0]+rwHeld, 1)
				m.acquire(g, r[0])
				m.acquire(g, r[0]+rwReaders)
				r[1] = 1
			}
		}})
	enter(native{name: "(*sync.RWMutex).Unlock", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.touchWord(r[0], true)
			m.touchWord(r[0]+rwHeld, false)
			if m.mem[m.addr(r[0]+rwHeld)] == 0 {
				m.fatal(g, "sync: Unlock of unlocked RWMutex")
				return
			}
			m.put(r[0], 0)
			m.put(r[0]+rwHeld, 0)
			m.release(g, r[0])
		}})
	enter(native{name: "(*sync.RWMutex).RLock", lock: true,
		alts: func(m *Machine, g *goroutine, r []uint64) int {
			if r[0]>>32 == 0 {
				return 1
			}
			m.touchWord(r[0], false)
			return int(flag(m.mem[m.addr(r[0])] == 0))
		},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.readShare(g, r[0])
			m.acquire(g, r[0])
		}})
	enter(native{name: "(*sync.RWMutex).TryRLock", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.touchWord(r[0], false)
			if r[1] = flag(m.mem[m.addr(r[0])] == 0); r[1] == 1 {
				m.readShare(g, r[0])
				m.acquire(g, r[0])
			}
		}})
	enter(native{name: "(*sync.RWMutex).RUnlock", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			if !m.takeShare(g, r[0]+rwReaders, true) {
				m.fatal(g, "sync: RUnlock of unlocked RWMutex")
				return
			}
			m.release(g, r[0]+rwReaders)
		}})

	// WaitGroup: the shares.
	enter(native{name: "(*sync.WaitGroup).Add", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			n := int64(r[1])
			if n > 0 && m.sys.races {
				m.begins(g, r[0])
			}
			if n < 0 {
				m.release(g, r[0])
			}
			for ; n > 0; n-- {
				if !m.addShare(g, r[0]) {
					m.refuse(g, "has more than 1024 in a WaitGroup that one goroutine added: "+
						"that cannot be explored yet")
					return
				}
			}
			for ; n < 0; n++ {
				if !m.takeShare(g, r[0], false) {
					m.panicText(g, "sync: negative WaitGroup counter")
					return
				}
			}
		}})
	enter(native{name: "(*sync.WaitGroup).Wait",
		alts: func(m *Machine, g *goroutine, r []uint64) int {
			if r[0]>>32 == 0 {
				return 1
			}
			return int(flag(m.noShares(g, r[0])))
		},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			m.acquire(g, r[0])
			if m.sys.races {
				m.ordered(g, r[0]+wgAdds, "WaitGroup.Wait", "WaitGroup.Add from zero")
				m.mark(g, r[0]+wgWaits)
			}
		}})

	// Once: 0 not yet, 1 running, 2 done.
	enter(native{name: "sync.onceBegin", lock: true,
		alts: func(m *Machine, g *goroutine, r []uint64) int {
			if r[0]>>32 == 0 {
				return 1
			}
			m.touchWord(r[0], false)
			return int(flag(m.mem[m.addr(r[0])] != 1))
		},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.badLock(g, r[0]) {
				return
			}
			if r[1] = flag(m.mem[m.addr(r[0])] == 0); r[1] == 1 {
				m.put(r[0], 1)
			}
			m.acquire(g, r[0])
		}})
	enter(native{name: "sync.onceEnd", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			m.put(r[0], 2)
			m.release(g, r[0])
		}})

	// Cond: how many have waited, how many of them were woken.
	enter(native{name: "sync.condAdd", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.copied(g, r[0]) {
				return
			}
			r[1] = m.mem[m.addr(r[0])]
			m.put(r[0], r[1]+1)
		}})
	enter(native{name: "sync.condWait",
		alts: func(m *Machine, g *goroutine, r []uint64) int {
			m.touchWord(r[0]+1, false)
			return int(flag(r[1] < m.mem[m.addr(r[0]+1)]))
		},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) { m.acquire(g, r[0]+1) }})
	enter(native{name: "sync.condNotify", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.copied(g, r[0]) {
				return
			}
			m.touchWord(r[0], false)
			m.touchWord(r[0]+1, false)
			all, woken := m.mem[m.addr(r[0])], m.mem[m.addr(r[0]+1)]
			if woken < all {
				if r[1] == 1 {
					woken = all
				} else {
					woken++
				}
				m.put(r[0]+1, woken)
				m.release(g, r[0]+1)
			}
		}})

	// A point where the library synchronises on a word: what follows in this
	// transition is as if it happened there.
	enter(native{name: "internal/cpor.Point", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			if m.nilSync(g, r[0]) {
				return
			}
			write := r[1] == 1
			m.touchWord(r[0], write)
			m.acquire(g, r[0])
			if write {
				m.release(g, r[0])
			}
		}})
	enter(native{name: "internal/cpor.Points", alts: always,
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			for _, at := range []int{0, 2} {
				m.touchWord(r[at], r[at+1] == 1)
				m.acquire(g, r[at])
			}
			for _, at := range []int{0, 2} {
				if r[at+1] == 1 {
					m.release(g, r[at])
				}
			}
		}})
	// A second word of the same point.
	plain("internal/cpor.Also", func(m *Machine, g *goroutine, r []uint64) {
		write := r[1] == 1
		m.touchWord(r[0], write)
		m.acquire(g, r[0])
		if write {
			m.release(g, r[0])
		}
	})
	// A point that exists only when the word, or the one after it, has one of some bits. The one
	// after it is only read. A giver releases, a taker acquires: taking bytes orders nothing
	// before those who give more.
	enter(native{name: "internal/cpor.WaitBits",
		alts: func(m *Machine, g *goroutine, r []uint64) int {
			m.touchWord(r[0], false)
			m.touchWord(r[0]+1, false)
			a := m.addr(r[0])
			return int(flag((m.mem[a]|m.mem[a+1])&r[1] != 0))
		},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			m.touchWord(r[0], true)
			if r[2] == 1 {
				m.release(g, r[0])
				return
			}
			m.acquire(g, r[0])
			m.acquire(g, r[0]+1)
		}})
	// The library accesses its arguments' bytes.
	plain("internal/cpor.Accesses", func(m *Machine, g *goroutine, r []uint64) {
		if n := int(r[1]); n > 0 && (m.objs[r[0]>>32].poisoned || m.objs[r[0]>>32].shared &&
			!m.setup) {
			m.access(g, r[0], n, r[3] == 1)
		}
	})
	plain("syscall.errnoText", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = m.str(syscall.Errno(r[0]).Error())
	})
	diskNatives(plain)
	atomics()
	clockNatives()

	scenarios(plain)
	plain("internal/cpor.Self", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = uint64(g.number)
	})
	plain("internal/cpor.Short", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = flag(m.sys.o.Short)
	})
	plain("internal/cpor.Picks", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = flag(m.sys.o.Draws && !m.setup) * MaxPick // an initializer runs once
	})
	enter(native{name: "internal/cpor.Pick",
		alts: func(m *Machine, g *goroutine, r []uint64) int { return int(r[0]) },
		sync: func(m *Machine, g *goroutine, r []uint64, which int) { r[1] = uint64(which) }})
	plain("internal/cpor.Testing", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = flag(!m.sys.ends)
	})
	plain("internal/cpor.Args", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = uint64(1 + len(m.sys.o.Args))
	})
	plain("internal/cpor.Arg", func(m *Machine, g *goroutine, r []uint64) {
		if i := int(r[0]); i > 0 {
			r[1] = m.str(m.sys.o.Args[i-1])
		} else {
			r[1] = m.str(m.sys.command())
		}
	})
	plain("internal/cpor.Pooled", func(m *Machine, g *goroutine, r []uint64) {
		if !m.setup && !m.sys.pooled.Load() {
			m.sys.pooled.Store(true)
		}
	})
	plain("internal/cpor.Chosen", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = flag(m.sys.o.Chosen == nil || m.sys.o.Chosen(m.text(r[0])))
	})
	plain("internal/cpor.Began", func(m *Machine, g *goroutine, r []uint64) {
		m.sys.tests.began(m.text(r[0]), g.number)
	})
	plain("internal/cpor.Ended", func(m *Machine, g *goroutine, r []uint64) {
		m.sys.tests.ended(m.text(r[0]))
	})
	plain("internal/cpor.Skipped", func(m *Machine, g *goroutine, r []uint64) {
		m.sys.tests.skipped(m.text(r[0]), m.text(r[1]))
	})
	plain("internal/cpor.Parallel", func(m *Machine, g *goroutine, r []uint64) {
		m.sys.tests.parallel.Store(true)
	})
	// Peek and Mark order nothing: package testing uses them where Go has a lock that
	// programs may not rely on.
	enter(native{name: "internal/cpor.Peek", alts: always, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		m.touchWord(r[0], false)
		r[1] = m.mem[m.addr(r[0])]
	}})
	enter(native{name: "internal/cpor.Mark", alts: always, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		m.put(r[0], 1)
	}})
	plain("internal/cpor.End", func(m *Machine, g *goroutine, r []uint64) {
		g.status = ended
		g.frames = g.frames[:0]
	})
	enter(native{name: synctestWait, alts: func(m *Machine, g *goroutine,
		r []uint64) int {
		return int(flag(m.settled(g)))
	},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) { m.joinAll(g) }})
	plain("testing/synctest.enter", func(m *Machine, g *goroutine, r []uint64) {
		m.touch(m.loc(locName{kind: bubbleLoc, a: g.number}), true)
		g.bubble = true
		m.clockShows() // it begins with the bubble
	})
	enter(native{name: synctestLeave, alts: func(m *Machine, g *goroutine, r []uint64) int {
		return int(flag(m.aloneInBubble(g)))
	},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
			m.touch(m.loc(locName{kind: bubbleLoc, a: g.number}), true)
			g.bubble = false
			for _, x := range m.gors {
				if x.status == alive && x.daemon && x.bubble && x.armed { // a timer of the bubble
					m.saveState(x)
					m.alarm(x.number)
					x.armed = false
				}
			}
			m.joinAll(g)
			m.clockShows()
		}})
	plain("internal/cpor.Print", func(m *Machine, g *goroutine, r []uint64) {
		m.print(m.text(r[0]))
	})
	enter(native{name: "internal/cpor.Write", alts: always, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		m.touch(m.loc(locName{kind: stdoutLoc}), true)
		m.outText = m.str(m.text(m.outText) + m.text(r[0]))
		m.print(m.text(r[0]))
	}})
	plain("internal/cpor.Ordered", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = flag(m.sys.o.Outcomes && !m.setup)
	})
	plain("internal/cpor.Fail", func(m *Machine, g *goroutine, r []uint64) {
		if m.sys.o.NoFailed {
			m.giveIn(g)
			return
		}
		m.violate(g, Failed, m.text(r[0]), withoutHelpers(m.stackOf(g)))
	})
	plain("internal/cpor.Crash", func(m *Machine, g *goroutine, r []uint64) {
		var stack []token
		if g.panics != nil {
			stack = g.panics.stack
		}
		if g.late && ofTest(m.blamed(g, stack)) {
			m.giveIn(g)
			return
		}
		m.violate(g, Panicked, "panic: "+m.text(r[0]), stack)
	})
	plain("internal/cpor.Fatal", func(m *Machine, g *goroutine, r []uint64) {
		m.fatal(g, m.text(r[0]))
	})
	enter(native{name: "internal/cpor.Exit", alts: always, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		m.exited = true
		m.touch(m.loc(locName{kind: aliveLoc}), true)
		if m.sys.ends && r[0] == 0 {
			g.status = ended
			g.frames = g.frames[:0]
			return
		}
		m.violate(g, Exited, fmt.Sprintf("exit %d", int64(r[0])), m.stackOf(g))
	}})
	enter(native{name: "internal/cpor.Forever", alts: func(*Machine, *goroutine, []uint64) int {
		return 0
	}, sync: func(*Machine, *goroutine, []uint64, int) {}})
	plain("internal/cpor.Goexiting", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = flag(g.panics != nil && g.panics.goexit)
	})
	plain("internal/cpor.Refuse", func(m *Machine, g *goroutine, r []uint64) {
		m.refuse(g, m.text(r[0]))
	})
	plain("runtime.Goexit", func(m *Machine, g *goroutine, r []uint64) {
		g.frames = g.frames[:len(g.frames)-1] // its own
		m.saveFrame(g)
		m.start(g, &panicRec{goexit: true})
	})
	nothing := func(m *Machine, g *goroutine, r []uint64) {}
	for _, n := range []string{"runtime.Gosched", "runtime.GC", "runtime.KeepAlive",
		"runtime.LockOSThread", "runtime.UnlockOSThread", "runtime/debug.FreeOSMemory",
		"runtime.SetFinalizer"} {
		plain(n, nothing)
	}
	plain("runtime.callerPC", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = 0
		if t := m.caller(g, int(int64(r[0]))); t.fn != nil {
			r[1] = madeWord(t)
		}
	})
	at := func(m *Machine, pc uint64) (t token, pos gotoken.Position) {
		if i := pc>>32 - 1; pc != 0 && i < uint64(m.p.NumFuncs()) {
			t = token{m.p.FuncByIndex(i), int32(uint32(pc))}
			if int64(uint32(pc)) > int64(len(t.fn.Pos)) { // behind the function
				return token{}, pos
			}
			if int(t.pc) < len(t.fn.Pos) {
				pos = m.p.Fset.Position(t.fn.Pos[t.pc])
			}
		}
		return t, pos
	}
	plain("runtime.pcName", func(m *Machine, g *goroutine, r []uint64) {
		name := ""
		if t, _ := at(m, r[0]); t.fn != nil {
			name = t.fn.RuntimeName()
		}
		r[1] = m.str(name)
	})
	plain("runtime.pcFile", func(m *Machine, g *goroutine, r []uint64) {
		_, pos := at(m, r[0])
		r[1] = m.str(pos.Filename)
	})
	plain("runtime.pcLine", func(m *Machine, g *goroutine, r []uint64) {
		_, pos := at(m, r[0])
		r[1] = uint64(pos.Line)
	})
	plain("runtime.NumCPU", func(m *Machine, g *goroutine, r []uint64) { r[0] = 4 })
	plain("runtime.GOMAXPROCS", func(m *Machine, g *goroutine, r []uint64) { r[1] = 4 })
	enter(native{name: "runtime.NumGoroutine", alts: always, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		m.touch(m.loc(locName{kind: countLoc}), false)
		n := 0
		if !m.sys.ends {
			n = 1 // that which waits for the test
		}
		for _, x := range m.gors {
			switch {
			case x.daemon:
			case x.status == alive:
				n++
			case x.status == ended:
				// In Go it may still be ending.
				m.sys.counted.Store(true)
			}
		}
		r[0] = uint64(n)
	}})
	// A random number is a choice. The systematic search uses one value, that of alternative 0;
	// random schedules use others.
	for _, name := range slices.Sorted(maps.Keys(draws)) {
		enter(native{name: name, alts: always, sync: func(m *Machine, g *goroutine, r []uint64,
			which int) {
			m.sys.drawn.Store(true)
			g.rands++
			h := mix(uint64(g.rands), uint64(which))
			for n := g.number; n >= 0; {
				t := m.sys.threads.Name(uint32(n))
				h = mix(h, uint64(t.n)+1)
				n = t.parent
			}
			h = (h ^ h>>33) * 0xff51afd7ed558ccd
			h ^= h >> 33
			switch name {
			case "runtime.fastrand", "runtime.cheaprand":
				h = uint64(uint32(h))
			case "runtime.fastrandn", "runtime.cheaprandn":
				h = uint64(uint32(h)) * uint64(uint32(r[0])) >> 32
			}
			r[draws[name]] = h
		}})
	}
	mathNatives(plain)
	stringNatives(plain)
	valueNatives(plain)
	linkedNatives(plain)
	reflectNatives(plain)
})

// The words of an RWMutex.
const (
	rwHeld    = 1
	rwReaders = 2
)

// condSelf is the word of a Cond that holds its own address once it was used.
const condSelf = 2

// copied reports whether a Cond is nil, or a copy of a used one: the goroutine panics.
func (m *Machine) copied(g *goroutine, p uint64) bool {
	if m.badLock(g, p) {
		return true
	}
	m.touchWord(p+condSelf, false)
	switch m.mem[m.addr(p+condSelf)] {
	case p:
		return false
	case 0:
		m.put(p+condSelf, p)
		return false
	}
	m.panicText(g, "sync.Cond is copied")
	return true
}

// The words of a WaitGroup behind the shares: their shadows have who has added from
// zero, and who has waited.
const (
	wgAdds  = 3
	wgWaits = 4
)

// mark adds g to those recorded at a word.
func (m *Machine) mark(g *goroutine, p uint64) {
	a := m.addr(p)
	m.remember(a)
	r := epoch(g)
	if old := m.shadow[a].r; old != 0 {
		r = m.addReader(old, g)
	}
	if a < m.fresh {
		m.log = append(m.log, undo{undoShadowR, a, m.shadow[a].r})
	}
	m.shadow[a].r = r
}

// begins checks whether an Add finds the WaitGroup at p at zero, and so begins a new use of it,
// without being ordered with an earlier Wait.
//
// Whether an Add finds zero depends on the order of it and other Adds and Dones, which are
// independent otherwise (see shares.go). It matters only after a Wait that is not ordered with
// the Add. Then the Add reads the evidence: one token, or that there is none. So it depends on
// the operation that put or takes that token, and if it finds zero in any order, it does in some
// explored one. An Add and a Wait always depend on each other, so that equivalent executions
// agree on which Waits are earlier, and clocks depend on the class alone. A Wait that comes
// later needs no such thing: another class has it before the Add, whose zero lets it continue,
// unless it can only continue by a Done for which there is no Add then, which is a panic.
func (m *Machine) begins(g *goroutine, p uint64) {
	zero := false
	if m.unordered(m.shadow[m.addr(p+wgWaits)].r, g) != 0 {
		zero = m.noShares(g, p)
	} else {
		zero = m.empty(p)
	}
	if zero {
		m.ordered(g, p+wgWaits, "WaitGroup.Add from zero", "WaitGroup.Wait")
		m.mark(g, p+wgAdds)
	}
}

// ordered reports a race unless all those recorded at a word come before g: an Add that begins a
// new use of a WaitGroup, and a Wait, must be ordered.
func (m *Machine) ordered(g *goroutine, p uint64, what, other string) {
	earlier := m.unordered(m.shadow[m.addr(p)].r, g)
	if earlier == 0 {
		return
	}
	stack := m.stackOf(g)
	m.addViolation(&system.Violation{Kind: Raced, Pos: m.userPos(stack), Object: "WaitGroup",
		Message: fmt.Sprintf("data race: nothing orders the %s by %s and the earlier %s by %s",
			what, m.ThreadName(int(g.number)), other, m.ThreadName(int(earlier>>32)-1))})
	if m.report != nil {
		m.report.stacks = []Stack{{Goroutine: m.Describe(int(g.number)), What: what,
			Frames: m.places(stack)},
			{Goroutine: m.Describe(int(earlier>>32) - 1), What: "earlier " + other}}
	}
}

// withoutHelpers drops the calls of functions marked as test helpers, if others remain.
func withoutHelpers(stack []token) []token {
	left := slices.DeleteFunc(slices.Clone(stack), func(t token) bool {
		return !t.fn.Hidden && t.fn.Helps()
	})
	if !slices.ContainsFunc(left, func(t token) bool { return !t.fn.Hidden }) {
		return stack
	}
	return left
}

// readShare adds a reader.
func (m *Machine) readShare(g *goroutine, p uint64) {
	if !m.addShare(g, p+rwReaders) {
		m.refuse(g, "has more than 1024 read locks in one goroutine: that cannot be explored yet")
	}
}

// nilSync panics if a synchronization object is nil.
func (m *Machine) nilSync(g *goroutine, p uint64) bool {
	if p>>32 != 0 {
		return false
	}
	m.throw(g, nilDereference)
	return true
}

// badLock reports whether the goroutine cannot use a lock, because it is nil. It reports a race
// if the lock was overwritten, and only the lock itself, for which the goroutine may have
// waited, orders that with this use. Copying a lock is not a race, but a step of its own.
func (m *Machine) badLock(g *goroutine, p uint64) bool {
	if m.nilSync(g, p) {
		return true
	}
	if w := m.shadow[m.addr(p)].w; w != 0 && m.sys.races && !m.setup && !m.before(w, g) {
		m.race(g, p, w, true, true)
	}
	return false
}

// panicText panics with a string.
func (m *Machine) panicText(g *goroutine, s string) {
	m.panic(g, uint64(m.sys.stringType.ID), m.str(s))
}

// put writes a word of a synchronization object.
func (m *Machine) put(p, v uint64) {
	m.touchWord(p, true)
	m.set(m.addr(p), v)
}

// print records the program's output.
func (m *Machine) print(s string) {
	if m.collect {
		m.output = append(m.output, s...)
	}
}

// atomics enters the functions of sync/atomic.
func atomics() {
	type size struct {
		suffix string
		kind   compile.Kind
	}
	for _, s := range []size{{"Int32", compile.Int32}, {"Int64", compile.Int64},
		{"Uint32", compile.Uint32}, {"Uint64", compile.Uint64}, {"Uintptr", compile.Uintptr},
		{"Pointer", compile.Pointer}} {
		k := s.kind
		op := func(name string, params int, f func(m *Machine, g *goroutine, r []uint64,
			old uint64) (v uint64, write bool, result uint64)) {
			enter(native{name: "sync/atomic." + name + s.suffix, alts: always,
				sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
					if m.nilSync(g, r[0]) {
						return
					}
					a := m.addr(r[0])
					v, write, result := f(m, g, r, m.mem[a])
					m.atomicAccess(g, r[0], write)
					m.acquire(g, r[0])
					if write {
						m.set(a, norm(k, v))
						if k == compile.Pointer && m.objs[r[0]>>32].shared {
							m.publish(v)
						}
						m.release(g, r[0])
					}
					if params < len(r) {
						r[params] = norm(k, result)
					}
				}})
		}
		op("Load", 1, func(m *Machine, g *goroutine, r []uint64, old uint64) (uint64, bool,
			uint64) {
			return 0, false, old
		})
		enter(native{name: "sync/atomic.Store" + s.suffix, alts: always,
			sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
				if !m.nilSync(g, r[0]) {
					v := norm(k, r[1])
					m.blind(g, r[0], system.Store(int64(v)), v)
					if k == compile.Pointer && m.objs[r[0]>>32].shared {
						m.publish(v)
					}
				}
			}})
		op("Swap", 2, func(m *Machine, g *goroutine, r []uint64, old uint64) (uint64, bool,
			uint64) {
			return r[1], true, old
		})
		op("CompareAndSwap", 3, func(m *Machine, g *goroutine, r []uint64, old uint64) (uint64,
			bool, uint64) {
			return r[2], old == r[1], flag(old == r[1])
		})
		if k == compile.Pointer {
			continue
		}
		op("Add", 2, func(m *Machine, g *goroutine, r []uint64, old uint64) (uint64, bool, uint64) {
			return old + r[1], true, old + r[1]
		})
		enter(native{name: "sync/atomic.add" + s.suffix, alts: always,
			sync: func(m *Machine, g *goroutine, r []uint64, _ int) {
				if m.nilSync(g, r[0]) {
					return
				}
				m.blind(g, r[0], system.Sum, norm(k, m.mem[m.addr(r[0])]+r[1]))
			}})
		op("And", 2, func(m *Machine, g *goroutine, r []uint64, old uint64) (uint64, bool, uint64) {
			return old & r[1], true, old
		})
		op("Or", 2, func(m *Machine, g *goroutine, r []uint64, old uint64) (uint64, bool, uint64) {
			return old | r[1], true, old
		})
	}
}

// blind gives a word a new value by an atomic operation that shows g nothing of the old one: an
// addition whose result is not used, or a store. Additions commute, and so do stores of one number,
// so goroutines that only count, or set a flag, are explored in one order ([system.Op]).
//
// For the clocks to commute as well, such an operation orders what g has done before what later
// loads and swaps order behind it, as Go's memory model has it, but not what earlier operations on
// the word released before what g does next. With less order there are more races, and each of them
// is a race of the program:
//
//	go func() { x = 1; n.Add(1) }()
//	go func() { n.Add(1); print(x) }()
//
// An execution in which the second addition comes later would order the write before the read
// if an addition acquired, and we report a race. The additions might have come the other way
// round, though. In general, call that order Go's, let b be the first event of an execution that
// races in our order, with a before it, and let A and B be what is before a and b in our order,
// without a and b.
//
//   - Both sets are closed, and so is their union: with an operation on an atomic word that is
//     not blind they contain all earlier ones on the word, because it acquires what
//     these released; a blind one needs none of them, and nobody in the union sees the difference
//     that others make to the word. What an event reads of plain memory was written by one before
//     it in our order, or there would be an earlier race. Everything else that an event depends on
//     is before it in both orders alike.
//   - So the events of the union, in the order of the execution, are an execution: each reads
//     what it read. Neither a nor b is in it: b is the later one, and a is not before b.
//   - After it a and b are next, and conflict. Executed one right after the other, they are not
//     ordered in Go's order either, because there is no release between them.
//
// So a program has a race in our order exactly if it has one in Go's, though the execution that
// shows it may be another one. Package conform compares this with all interleavings, by brute
// force, of programs whose goroutines add and store beside plain variables.
func (m *Machine) blind(g *goroutine, p uint64, op system.Op, v uint64) {
	n := len(m.accesses)
	m.atomicAccess(g, p, true)
	if n < len(m.accesses) && op != 0 { // what touches it later makes it an ordinary access
		m.accesses[n].Op, m.accesses[n].Room = op, system.Unlimited
	}
	m.set(m.addr(p), v)
	m.release(g, p)
}

// atomicAccess records an atomic access, which races with plain ones. Only the order in which
// the plain access is earlier is checked, because the other one is explored, too.
func (m *Machine) atomicAccess(g *goroutine, p uint64, write bool) {
	m.touchWord(p, write)
	if !m.sys.races || m.setup {
		return
	}
	s := m.shadow[m.addr(p)]
	if s.w != 0 && !m.before(s.w, g) {
		m.race(g, p, s.w, true, write)
	} else if write {
		if r := m.unordered(s.r, g); r != 0 {
			m.race(g, p, r, false, write)
		}
	}
}

// alarmOf returns the goroutine that represents a timer.
func (m *Machine) alarmOf(w uint64) *goroutine { return m.gors[int(w)-1] }

func (m *Machine) alarm(n int32) { m.touch(m.loc(locName{kind: alarmLoc, a: n}), true) }

func (m *Machine) clockRead() { m.touch(m.loc(locName{kind: clockLoc}), false) }

// tickRoom is what deadlines are rounded up to where the clock ticks, in nanoseconds.
const tickRoom = 1000

// ticks reports whether the clock that the program reads advances by a nanosecond with each
// step: no Go program reads the same time twice, and some rely on it. A goroutine reads the time
// that has passed plus the number of steps that happened before, a function of its vector clock.
// So the clock grows along happens-before, and is the same in equivalent executions. Where
// states are stored the clock does not tick, since no state would repeat; nor does it in the
// initializers, whose steps are not counted, and in bubbles of testing/synctest, which promises
// that.
func (m *Machine) ticks(g *goroutine) bool {
	return !m.setup && m.sys.races && m.sys.readsClock && !g.bubble && !m.sys.o.Stored
}

// steps returns how many steps happened before g's current step.
func (m *Machine) steps(g *goroutine) uint64 {
	n := uint64(g.tick)
	for i, x := range m.clock(g.clock) {
		if int32(i) != g.number {
			n += uint64(x)
		}
	}
	return n
}

// arm sets the alarm of a goroutine.
func (m *Machine) arm(x *goroutine, d int64) {
	m.clockRead()
	m.alarm(x.number)
	x.armed = true
	if m.ticks(x) && d > 0 && d < math.MaxInt64-tickRoom {
		// The ticks are not part of a deadline: alarms of the same duration go off in every
		// order.
		d = (d + tickRoom - 1) / tickRoom * tickRoom
	}
	x.deadline = m.now + max(0, d)
	if x.deadline < m.now {
		x.deadline = math.MaxInt64
	}
}

// due reports whether a goroutine's alarm may go off. The alarm of a ticker whose channel is
// full may not: its tick would be lost, so nothing would happen except that time passes.
func (m *Machine) due(g *goroutine) bool {
	m.touch(m.loc(locName{kind: alarmLoc, a: g.number}), false)
	if !g.armed || m.idles(g) {
		return false
	}
	if m.sys.o.Alarms > 0 {
		m.clockRead()
		if m.spent() {
			m.sys.cut.Store(true)
			return false
		}
	}
	at := m.deadlineOf(g)
	for _, x := range m.gors {
		if x == g || x.status != alive {
			continue
		}
		if x.daemon {
			// A timer that was stopped or set to a later time may have let this alarm go off: it
			// is read, though it no longer blocks.
			m.touch(m.loc(locName{kind: alarmLoc, a: x.number}), false)
		}
		if x.armed && x.deadline < at {
			m.touch(m.loc(locName{kind: alarmLoc, a: x.number}), false)
			if !m.idles(x) && m.deadlineOf(x) < at {
				return false
			}
		}
	}
	if !m.sys.o.Idle && !g.bubble && !(m.sys.o.Patient && m.testSleeps(g)) {
		return true
	}
	// Time does not pass for an alarm that is already due, so it waits for nothing.
	m.clockRead()
	return at <= m.now || m.quiet(g, true)
}

// settled reports whether synctest.Wait may return: no other goroutine in the bubble can run,
// and no alarm is due.
func (m *Machine) settled(g *goroutine) bool {
	if !m.quiet(g, false) {
		return false
	}
	m.clockRead()
	for _, x := range m.gors {
		if x == g || x.status != alive || x.bubble != g.bubble {
			continue
		}
		m.touch(m.loc(locName{kind: alarmLoc, a: x.number}), false)
		if x.armed && !m.idles(x) && m.deadlineOf(x) <= m.now {
			return false
		}
	}
	return true
}

// spent reports whether no more alarms may go off, however many are due.
func (m *Machine) spent() bool { return m.sys.o.Alarms > 0 && int(m.fired) >= m.sys.o.Alarms }

// cutShort reports whether an alarm would still go off, but may not.
func (m *Machine) cutShort() bool {
	if !m.spent() {
		return false
	}
	track := m.track
	m.track = false
	defer func() { m.track = track }()
	for _, x := range m.gors {
		if x.status == alive && x.armed && !m.idles(x) {
			return true
		}
	}
	return false
}

// ticker returns the channel and the period of a ticker's goroutine; 0 if it is not one.
func (g *goroutine) ticker() (c uint64, period int64) {
	i := g.pending()
	if i == nil || !g.daemon || i.Op != compile.Sync || natives[i.N].name != "time.awaitTimer" {
		return 0, 0
	}
	r := g.regs()
	return r[0], int64(r[1])
}

// idles reports whether the alarm is one of a ticker whose channel is full.
func (m *Machine) idles(g *goroutine) bool {
	c, period := g.ticker()
	if c == 0 || period <= 0 {
		return false
	}
	s := m.slot(c, m.chanWord(c, chanTail))
	m.touchWord(c+chanTail, false)
	m.touchWord(s, false)
	return m.mem[m.addr(s)] != 0
}

// deadlineOf returns when an alarm goes off: for a ticker that has lost ticks, at its next one.
func (m *Machine) deadlineOf(g *goroutine) int64 {
	if g.deadline >= m.now {
		return g.deadline
	}
	if _, period := g.ticker(); period > 0 {
		return g.deadline + (m.now-g.deadline+period-1)/period*period
	}
	return g.deadline
}

// Functions of package testing/synctest that wait.
const (
	synctestWait  = "testing/synctest.Wait"
	synctestLeave = "testing/synctest.leave"
)

// aloneInBubble reports whether a bubble has come to its end: all its goroutines but g have ended.
// Its timers do not count.
func (m *Machine) aloneInBubble(g *goroutine) bool {
	alone := true
	for _, x := range m.gors {
		if x == g || x.status == absent {
			continue
		}
		m.touch(m.loc(locName{kind: bubbleLoc, a: x.number}), false)
		if !x.bubble {
			continue
		}
		m.touch(m.loc(locName{kind: awakeLoc, a: x.number}), false)
		if x.status == alive && !(x.daemon && m.inNative(x, "time.awaitTimer")) {
			alone = false
		}
	}
	m.scanNew(g)
	return alone
}

// quiet reports whether only goroutines that wait for their alarms are left (in the bubble, if g
// is in one). Before time passes, a goroutine in synctest.Wait continues. As in Go, time in a
// bubble stands while somebody there waits for a lock, and from when its function has returned on.
// Whether x can run changes only by transitions of x, and by transitions of others, in the bubble
// or not; all these write awake locations.
func (m *Machine) quiet(g *goroutine, passes bool) bool {
	quiet := true
	for _, x := range m.gors {
		if x == g || x.status == absent {
			continue
		}
		m.touch(m.loc(locName{kind: awakeLoc, a: x.number}), false)
		if g.bubble && !x.bubble {
			m.touch(m.loc(locName{kind: bubbleLoc, a: x.number}), false)
			continue
		}
		if !quiet || x.status != alive {
			continue
		}
		waits := m.inNative(x, synctestWait) || g.bubble && m.inNative(x, synctestLeave)
		quiet = !(m.ready(x) || g.bubble && m.locks(x) || passes && waits)
	}
	m.scanNew(g)
	return quiet
}

// inNative reports whether a goroutine is about to call a function that synchronizes.
func (m *Machine) inNative(x *goroutine, name string) bool {
	i := x.pending()
	return i != nil && i.Op == compile.Sync && natives[i.N].name == name
}

// locks reports whether a goroutine is about to lock something.
func (m *Machine) locks(x *goroutine) bool {
	i := x.pending()
	return i != nil && i.Op == compile.Sync && natives[i.N].lock
}

// ready reports whether a goroutine can continue without an alarm.
func (m *Machine) ready(x *goroutine) bool {
	if x.unstarted || x.delivered {
		return true
	}
	i := x.pending()
	if i == nil {
		return false
	}
	if i.Op == compile.Sync {
		if n := natives[i.N].name; n == "internal/cpor.Await" || n == "time.awaitTimer" ||
			n == synctestWait {
			return false
		}
	}
	track, scratch := m.track, m.scratch
	m.track, m.scratch = false, nil
	alts := m.alternatives(x, i, x.regs())
	parks := len(alts) == 0 && m.mayPark(x, i, x.regs())
	m.track, m.scratch = track, scratch
	return len(alts) > 0 || parks
}

// fire lets the alarm go off.
func (m *Machine) fire(g *goroutine) {
	m.touch(m.loc(locName{kind: clockLoc}), true)
	m.alarm(g.number)
	m.now = max(m.now, m.deadlineOf(g))
	if !m.setup {
		if m.sys.o.Alarms > 0 {
			m.fired++
		}
		if !m.sys.timed.Load() {
			m.sys.timed.Store(true)
		}
	}
	g.armed = false
	g.deadline = 0
	m.join(g, g.reset)
	g.reset = 0
	if owner := m.ownerOf(g); m.sys.o.NoFailed && owner != nil && owner.status == alive {
		m.saveState(owner)
		owner.late = true
	}
}

// giveIn ends the execution quietly.
func (m *Machine) giveIn(g *goroutine) {
	m.exited = true
	m.touch(m.loc(locName{kind: aliveLoc}), true)
	g.status = ended
	g.frames = g.frames[:0]
}

// ofTest reports whether a place is in a file of tests.
func ofTest(p system.Pos) bool { return strings.HasSuffix(p.File, "_test.go") }

// ownerOf returns the goroutine whose time-out a timer is, or nil.
func (m *Machine) ownerOf(g *goroutine) *goroutine {
	if !g.timeout {
		return nil
	}
	return m.gors[m.sys.threads.Name(uint32(g.number)).parent]
}

// testSleeps reports whether a goroutine is a test that sleeps: it runs the test function or
// that of a subtest, and waits in a time.Sleep that a _test.go file calls.
func (m *Machine) testSleeps(g *goroutine) bool {
	i := g.pending()
	if i == nil || g.unstarted || i.Op != compile.Sync ||
		natives[i.N].name != "internal/cpor.Await" {
		return false
	}
	for k := range g.frames {
		if g.frames[k].fn.Name == "testing.tRunner" {
			return ofTest(m.posOf(g.userToken()))
		}
	}
	return false
}

// setsTimeout reports whether a goroutine that starts a timer runs a test, and the timer is a
// time-out: a context's, a connection's deadline, or one with a channel. A function to be called
// is not a time-out.
func (g *goroutine) setsTimeout() bool {
	tests, timeout := false, false
	for i := range g.frames {
		name := g.frames[i].fn.Name
		tests = tests || name == "testing.tRunner"
		timeout = timeout || name == "time.NewTimer" || name == "(*net.netFD).setDeadline" ||
			strings.HasPrefix(name, "context.")
	}
	return tests && timeout
}

// patience is how often a goroutine reads the clock at one place before time passes for it, unless
// [Options.Readings] says otherwise.
const patience = 16

// looksAround reports whether an instruction only reads the clock or an atomic word.
func looksAround(i *compile.Instr) bool {
	if i.Op != compile.Sync {
		return i.Op == compile.LenChan
	}
	n := natives[i.N].name
	return n == "internal/cpor.Now" || n == nanotime || n == "internal/cpor.Point" ||
		strings.HasPrefix(n, "sync/atomic.Load")
}

// clockShows returns the time that the program reads.
func (m *Machine) clockShows() int64 {
	if !m.clockWasRead {
		m.clockWasRead, m.clockBegan = true, m.now
	}
	return m.now - m.clockBegan
}

// waitsForClock lets time pass where a goroutine repeatedly reads the clock at one place:
//
//	for time.Since(start) < time.Millisecond {
//	}
//
// More and more time passes, so a loop that only waits for the clock ends, as in Go. If the
// goroutine does more between two readings, it is a microsecond, about the time of an iteration
// in Go: a loop that puts a thousand entries into a cache does not wait for them to expire. In a
// bubble of testing/synctest the loop does not end.
func (m *Machine) waitsForClock(g *goroutine) {
	if m.setup || g.bubble {
		return
	}
	if at := g.userToken(); at != g.clockAt {
		g.clockAt, g.reads = at, 0
	}
	most := int32(cmp.Or(m.sys.o.Readings, patience))
	if g.reads++; g.reads <= most {
		return
	}
	m.sys.waited.Store(true)
	jump := int64(1) << min(g.reads-most, 44)
	if g.busy {
		jump, g.reads, g.busy = int64(time.Microsecond), most, false
	}
	if m.now < math.MaxInt64/2 {
		m.touch(m.loc(locName{kind: clockLoc}), true)
		m.now += jump
	}
}

func clockNatives() {
	for _, name := range []string{"internal/cpor.Now", nanotime} {
		enter(native{name: name, alts: always, sync: func(m *Machine, g *goroutine, r []uint64,
			_ int) {
			m.clockRead()
			m.waitsForClock(g)
			r[0] = uint64(m.clockShows())
			if m.ticks(g) {
				r[0] += m.steps(g)
			}
		}})
	}
	enter(native{name: "internal/cpor.Arm", alts: always, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		m.arm(g, int64(r[0]))
	}})
	due := func(m *Machine, g *goroutine, r []uint64) int { return int(flag(m.due(g))) }
	enter(native{name: "internal/cpor.Await", alts: due, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		m.fire(g)
	}})
	// AwaitTimer(c chan Time, period int64): a timer's goroutine lets it go off.
	enter(native{name: "time.awaitTimer", alts: due, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		m.fire(g)
		if c := r[0]; c != 0 {
			at := m.chanWord(c, chanTail)
			s := m.slot(c, at)
			m.touchWord(c+chanTail, false)
			m.touchWord(s, false)
			if m.mem[m.addr(s)] == 0 {
				m.send(g, c, m.timeValue(), alternative{0, -1, 0})
			}
		}
		if d := int64(r[1]); d > 0 {
			m.arm(g, d)
		}
	}})
	// startTimer(loop func(), d int64) int
	enter(native{name: "time.startTimer", alts: always, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		if r[0]&compile.StaticFunc == 0 {
			m.publish(r[0])
		}
		x := m.create(g)
		x.made = g.userToken()
		x.daemon = true
		x.timeout = g.setsTimeout()
		m.callFunc(x, r[0], nil, -1)
		m.noteRun(x)
		x.unstarted = false
		m.run(x)
		m.arm(x, int64(r[1]))
		r[2] = uint64(x.number) + 1
	}})
	// stopTimer(t int, c chan Time, d int64, arm bool) bool
	enter(native{name: "time.setTimer", alts: always, sync: func(m *Machine, g *goroutine,
		r []uint64, _ int) {
		if r[0] == 0 {
			m.panicText(g, "time: Stop called on uninitialized Timer")
			return
		}
		x := m.alarmOf(r[0])
		m.saveState(x)
		was := x.armed
		if c := r[1]; c != 0 && m.chanWord(c, chanTimer) == 1 {
			s := m.slot(c, m.chanWord(c, chanHead))
			m.touchWord(s, false)
			if m.mem[m.addr(s)] != 0 {
				// No earlier value can be received.
				m.touchWord(c+chanHead, true)
				m.put(s, 0)
				was = true
			}
		}
		m.clockRead()
		m.alarm(x.number)
		x.armed = false
		if r[3] == 1 {
			x.reset = m.snapshot(g)
			m.arm(x, int64(r[2]))
		}
		r[4] = flag(was)
	}})
	enter(native{name: "time.zoneData", run: func(m *Machine, g *goroutine, r []uint64) {
		data, found, installed := m.sys.zones.data(m.p.GOROOT, m.text(r[0]))
		r[1], r[2], r[3] = m.str(data), flag(found), flag(installed)
	}})
	enter(native{name: "time.timerChan", run: func(m *Machine, g *goroutine, r []uint64) {
		m.set(m.addr(r[0]+chanTimer), flag(!m.sys.old))
		r[1] = r[0]
	}})
}

// timeEpoch is the clock's beginning, in seconds since the year 1: the first of
// January 2000, as in testing/synctest.
const timeEpoch = 63082281600

// timeValue returns the words of a time.Time.
func (m *Machine) timeValue() []uint64 {
	if !m.sys.readsClock {
		return []uint64{0, timeEpoch, 0} // one time more would be one state more
	}
	now := m.clockShows()
	return []uint64{uint64(now % 1e9), uint64(timeEpoch + now/1e9), 0}
}

func mathNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	for name, f := range map[string]func(float64) float64{
		"Sqrt": math.Sqrt, "Floor": math.Floor, "Ceil": math.Ceil, "Trunc": math.Trunc,
		"Round": math.Round, "Abs": math.Abs,
		"Exp": math.Exp, "Exp2": math.Exp2, "Log": math.Log, "Log2": math.Log2, "Log10": math.Log10,
		"Log1p": math.Log1p, "Expm1": math.Expm1,
		"Sin": math.Sin, "Cos": math.Cos, "Tan": math.Tan, "Asin": math.Asin, "Acos": math.Acos,
		"Atan": math.Atan,
		"Sinh": math.Sinh, "Cosh": math.Cosh, "Tanh": math.Tanh, "Cbrt": math.Cbrt,
		"RoundToEven": math.RoundToEven,
	} {
		plain("math."+name, func(m *Machine, g *goroutine, r []uint64) { r[1] = w64(f(f64(r[0]))) })
	}
	for name, f := range map[string]func(x, y float64) float64{
		"Pow": math.Pow, "Mod": math.Mod, "Max": math.Max, "Min": math.Min, "Hypot": math.Hypot,
		"Atan2": math.Atan2, "Dim": math.Dim, "Copysign": math.Copysign,
		"Remainder": math.Remainder,
	} {
		plain("math."+name, func(m *Machine, g *goroutine, r []uint64) {
			r[2] = w64(f(f64(r[0]), f64(r[1])))
		})
	}
	for _, n := range []string{"Float64bits", "Float64frombits", "Float32bits", "Float32frombits"} {
		plain("math."+n, func(m *Machine, g *goroutine, r []uint64) { r[1] = r[0] })
	}
	plain("math.FMA", func(m *Machine, g *goroutine, r []uint64) {
		r[3] = w64(math.FMA(f64(r[0]), f64(r[1]), f64(r[2])))
	})
	plain("math/bits.Mul64", func(m *Machine, g *goroutine, r []uint64) {
		r[2], r[3] = bits.Mul64(r[0], r[1])
	})
	plain("math/bits.TrailingZeros64", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = uint64(bits.TrailingZeros64(r[0]))
	})
	plain("math/bits.Len64", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = uint64(bits.Len64(r[0]))
	})
}

// nanotime is the clock of package runtime, which packages link to.
const nanotime = "runtime.nanotime"

// linkedNatives enters functions of the run-time that packages link to, besides nanotime
// and those in [draws]. A goroutine is never bound to a processor, there is but one.
func linkedNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	for _, n := range []string{"runtime.procUnpin", "sync.runtime_procUnpin",
		"sync/atomic.runtime_procUnpin", "runtime.procyield", "sync.runtime_doSpin"} {
		plain(n, func(m *Machine, g *goroutine, r []uint64) {})
	}
	for _, n := range []string{"runtime.procPin", "sync.runtime_procPin",
		"sync/atomic.runtime_procPin"} {
		plain(n, func(m *Machine, g *goroutine, r []uint64) { r[0] = 0 })
	}
	plain("sync.runtime_canSpin", func(m *Machine, g *goroutine, r []uint64) { r[1] = 0 })
}

// stringNatives enters functions of the library on strings that are called often.
func stringNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	for name, f := range map[string]func(s, t string) bool{"Contains": strings.Contains,
		"HasPrefix": strings.HasPrefix, "HasSuffix": strings.HasSuffix,
		"EqualFold": strings.EqualFold, "ContainsAny": strings.ContainsAny} {
		plain("strings."+name, func(m *Machine, g *goroutine, r []uint64) {
			r[2] = flag(f(m.text(r[0]), m.text(r[1])))
		})
	}
	for name, f := range map[string]func(s, t string) int{"Index": strings.Index,
		"LastIndex": strings.LastIndex, "Count": strings.Count, "Compare": strings.Compare,
		"IndexAny": strings.IndexAny} {
		plain("strings."+name, func(m *Machine, g *goroutine, r []uint64) {
			r[2] = uint64(int64(f(m.text(r[0]), m.text(r[1]))))
		})
	}
	for name, f := range map[string]func(s, t string) string{"TrimPrefix": strings.TrimPrefix,
		"TrimSuffix": strings.TrimSuffix, "Trim": strings.Trim, "TrimLeft": strings.TrimLeft,
		"TrimRight": strings.TrimRight} {
		plain("strings."+name, func(m *Machine, g *goroutine, r []uint64) {
			r[2] = m.str(f(m.text(r[0]), m.text(r[1])))
		})
	}
	for name, f := range map[string]func(s string) string{"ToUpper": strings.ToUpper,
		"ToLower": strings.ToLower, "TrimSpace": strings.TrimSpace} {
		plain("strings."+name, func(m *Machine, g *goroutine, r []uint64) {
			r[1] = m.str(f(m.text(r[0])))
		})
	}
	plain("strings.IndexByte", func(m *Machine, g *goroutine, r []uint64) {
		r[2] = uint64(int64(strings.IndexByte(m.text(r[0]), byte(r[1]))))
	})
	plain("strings.Repeat", func(m *Machine, g *goroutine, r []uint64) {
		n := int64(r[1])
		if n < 0 {
			m.leave(g)
			m.panicText(g, "strings: negative Repeat count")
			return
		}
		if text := m.text(r[0]); n > 0 && int64(len(text)) > maxLen/n {
			m.refuse(g, "makes a string of more than 67 million bytes with strings.Repeat")
		} else {
			r[2] = m.str(strings.Repeat(text, int(n)))
		}
	})
	plain("strings.ReplaceAll", func(m *Machine, g *goroutine, r []uint64) {
		r[3] = m.str(strings.ReplaceAll(m.text(r[0]), m.text(r[1]), m.text(r[2])))
	})
	plain("strings.Replace", func(m *Machine, g *goroutine, r []uint64) {
		r[4] = m.str(strings.Replace(m.text(r[0]), m.text(r[1]), m.text(r[2]), int(int64(r[3]))))
	})
	plain("strconv.Itoa", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = m.str(strconv.Itoa(int(int64(r[0]))))
	})
	wrongBase := func(m *Machine, g *goroutine, base uint64) bool {
		if 2 <= base && base <= 36 {
			return false
		}
		m.leave(g)
		m.panicText(g, "strconv: illegal AppendInt/FormatInt base")
		return true
	}
	plain("strconv.FormatInt", func(m *Machine, g *goroutine, r []uint64) {
		if wrongBase(m, g, r[1]) {
			return
		}
		r[2] = m.str(strconv.FormatInt(int64(r[0]), int(r[1])))
	})
	plain("strconv.FormatUint", func(m *Machine, g *goroutine, r []uint64) {
		if wrongBase(m, g, r[1]) {
			return
		}
		r[2] = m.str(strconv.FormatUint(r[0], int(r[1])))
	})
	plain("strconv.Quote", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = m.str(strconv.Quote(m.text(r[0])))
	})
	plain("strconv.FormatFloat", func(m *Machine, g *goroutine, r []uint64) {
		if r[3] != 32 && r[3] != 64 {
			m.leave(g)
			m.panicText(g, "strconv: illegal AppendFloat/FormatFloat bitSize")
			return
		}
		r[4] = m.str(strconv.FormatFloat(f64(r[0]), byte(r[1]), int(int64(r[2])), int(r[3])))
	})
	plain("strconv.FormatBool", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = m.str(strconv.FormatBool(r[0] == 1))
	})
}
