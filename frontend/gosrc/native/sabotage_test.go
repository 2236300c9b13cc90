package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc/native"
	"cpor/frontend/gosrc/native/replay"
	"cpor/system"
)

// faults are built into the run-time, one at a time: what stands in a file is replaced. Each is
// found by a search over the tests of victims, whose results are known.
var faults = []struct{ name, file, old, new string }{
	{
		"no point before Unlock",
		"sched",
		"	t.op, t.p, t.a, t.b = op, uintptr(p), a, b\n	if calm == 2 {",
		"	t.op, t.p, t.a, t.b = op, uintptr(p), a, b\n	if FAULT && op == cporOpUnlock { *(*int32)(p) = 0; t.result = 1; return t }\n	if calm == 2 {",
	},
	{"no point before an atomic store", "sched", "	t := cporSyncOp(op, p, size, old)",
		"	if FAULT && op == cporOpStore { return }\n	t := cporSyncOp(op, p, size, old)"},
	{
		"Unlock orders nothing",
		"sched",
		"		*(*int32)(p) = 0\n		cporRelease(t, cporLocOf(t.p, cporWord, 0))\n	case cporOpWait:",
		"		*(*int32)(p) = 0\n		if !FAULT { cporRelease(t, cporLocOf(t.p, cporWord, 0)) }\n	case cporOpWait:",
	},
	{"close orders nothing", "sched", "	cporRelease(t, cporLocOf(cporChan(c), cporClosed, 0))",
		"	if !FAULT { cporRelease(t, cporLocOf(cporChan(c), cporClosed, 0)) }"},
	{
		"everything is ordered",
		"shadow",
		"	return id == int(t.id) ||",
		"	return FAULT || id == int(t.id) ||",
	},
	{
		"plain accesses do not find atomic ones",
		"race",
		"			if cporAtomicList(addr).at != 0 {",
		"			if cporAtomicList(addr).at != 0 && !FAULT {",
	},
	{
		"what others learn begins no epoch",
		"clocks",
		"	t.era = tick\n",
		"	if FAULT { return }\n	t.era = tick\n",
	},
	{
		"writes to old memory are not seen",
		"race",
		"	if cporWrote {\n",
		"	if FAULT || cporWrote {\n",
	},
	{
		"the clock stands",
		"clocks",
		"	if at := cporDeadline(t); at > cporNow {",
		"	if at := cporDeadline(t); at > cporNow && !FAULT {",
	},
	{
		"alarms go off in any order",
		"clocks",
		"			if !cporIdles(x) && cporDeadline(x) < at {",
		"			if !FAULT && !cporIdles(x) && cporDeadline(x) < at {",
	},
	{
		"Lock is shown as a read",
		"sched",
		"	case cporOpLock, cporOpUnlock, cporOpAnnounce, cporOpWUnlock:\n		cporTouch(t.p, cporWord, 0, true)",
		"	case cporOpLock, cporOpUnlock, cporOpAnnounce, cporOpWUnlock:\n		cporTouch(t.p, cporWord, 0, !FAULT || t.op != cporOpLock)",
	},
	{
		"an atomic store is shown as a read",
		"sched",
		"	case cporOpStore:\n		cporTouch(t.p, cporWord, 0, true)",
		"	case cporOpStore:\n		cporTouch(t.p, cporWord, 0, !FAULT)",
	},
	{"all locations of an address are one", "sched",
		"	h := uint32(cporMix(cporMix(uint64(addr), kind), index))\n	for i",
		"	if FAULT && kind <= cporOffers { kind, index = cporWord, 0 }\n	h := uint32(cporMix(cporMix(uint64(addr), kind), index))\n	for i"},
	{
		"Broadcast wakes one",
		"sched",
		"			if t.op == cporOpBroadcast {",
		"			if t.op == cporOpBroadcast && !FAULT {",
	},
	{
		"select takes the first case that is ready",
		"sched",
		"				cporRecvAlts(t, cases[i].c, i, !t.block)\n			}",
		"				cporRecvAlts(t, cases[i].c, i, !t.block)\n			}\n			if FAULT && cporNAlts > 0 { break }",
	},
	{
		"what initializers add to a WaitGroup is forgotten",
		"clocks",
		"		if n := *cporCounter(t); n > 0 {",
		"		if n := *cporCounter(t); !FAULT && n > 0 {",
	},
	{"timers of initializers never fire", "clocks", "		if h.left >= 0 {",
		"		if h.left >= 0 && !FAULT {"},
	{"the end of a test is no step", "sched", "	case !cporLogs && ends:",
		"	case ends && (FAULT || !cporLogs):"},
	{"everybody may wait forever", "tell", "	if t.daemon {", "	if t.daemon || FAULT {"},
	{
		"maps begin anywhere",
		"tell",
		"	if t == nil {\n		return 0, false\n	}\n	t.draws++",
		"	if t == nil || FAULT {\n		return 0, false\n	}\n	t.draws++",
	},
	{
		"objects are counted by all goroutines together",
		"race",
		"			t.allocs++\n			n = t.allocs",
		"			if FAULT { t = cporThreads[0] }\n			t.allocs++\n			n = t.allocs",
	},
	{
		"the hash of a step leaves out its accesses",
		"tell",
		"		h += cporMix(cporLocs[a>>1].hash, uint64(a&1))",
		"		h += cporMix(cporLocs[a>>1].hash, uint64(a&1))\n		if FAULT { h = uint64(cporGen) | 1 }",
	},
	{
		"goroutines end without a word",
		"sched",
		"	if cporCounts && cporStep.open && !cporBrief {",
		"	if !FAULT && cporCounts && cporStep.open && !cporBrief {",
	},
	{
		"the clock is read without a word",
		"sched",
		"		cporTouch(0, cporClock, 0, !t.bubble && cporReads(t) > cporPatience)",
		"		if !FAULT { cporTouch(0, cporClock, 0, !t.bubble && cporReads(t) > cporPatience) }",
	},
	{
		"time passes in a bubble at any time",
		"clocks",
		"	if !cporQuiet && !t.bubble {",
		"	if FAULT || !cporQuiet && !t.bubble {",
	},
	{
		"synctest.Wait waits for nobody",
		"clocks",
		"	if !cporIsQuiet(t, false) {",
		"	if !FAULT && !cporIsQuiet(t, false) {",
	},
	{
		"an object inherits what was known of the one before",
		"collect",
		"	if p-cporHeapLo >= cporHeapSize {\n		return\n	}",
		"	if FAULT || p-cporHeapLo >= cporHeapSize {\n		return\n	}",
	},
	{
		"an object inherits the locations of the one before",
		"collect",
		"		if l.addr-cporHeapLo >= cporHeapSize {",
		"		if FAULT || l.addr-cporHeapLo >= cporHeapSize {",
	},
	{
		"a small object inherits what was known of the one before",
		"collect",
		"		p, size = p&^15, 16 //",
		"		if FAULT && p&15 != 0 { return }\n		p, size = p&^15, 16 //",
	},
	{
		"what was written stays",
		"restore",
		"	for at := cporOldsLast; cporOldsAt != 0; {",
		"	for at := cporOldsLast; cporOldsAt != 0 && !FAULT; {",
	},
	{
		"of several writes the last one is undone",
		"restore",
		"		if at == 0 {",
		"		if FAULT || at == 0 {",
	},
	{
		"of a map only the beginning is kept",
		"restore",
		"		if base, s, _ := findObject(uintptr(p), 0, 0); base != 0 {",
		"		if FAULT { cporKeep(m, 48); return }\n" +
			"		if base, s, _ := findObject(uintptr(p), 0, 0); base != 0 {",
	},
	{
		"of a channel only the beginning is kept",
		"restore",
		"	if slot < c.dataqsiz && c.elemsize > 0 {",
		"	if slot < c.dataqsiz && c.elemsize > 0 && !FAULT {",
	},
	{
		"of a sync.OnceFunc only the Once is kept",
		"restore",
		"	if base, s, _ := findObject(p, 0, 0); base != 0 {\n" +
			"		cporKeep(base, s.elemsize)\n	} else {\n		cporKeepOld(p, 1)",
		"	if base, s, _ := findObject(p, 0, 0); base != 0 && !FAULT {\n" +
			"		cporKeep(base, s.elemsize)\n	} else {\n		cporKeepOld(p, 1)",
	},
	{
		"what assembly writes beside is not looked for",
		"restore",
		"	if cporTooLarge {",
		"	if FAULT { return }\n	if cporTooLarge {",
	},
	{
		"what only assembly writes is not looked for",
		"restore",
		"	if cporWrote || !cporProbing || cporOldsAt == 0 && !cporAssembly {",
		"	if cporWrote || !cporProbing || cporOldsAt == 0 && (FAULT || !cporAssembly) {",
	},
	{
		"variables that assembly writes are not looked at",
		"restore",
		"		if !memequal(unsafe.Pointer(cporVars[i]),",
		"		if !FAULT && !memequal(unsafe.Pointer(cporVars[i]),",
	},
	{
		"a forked child gives back nothing",
		"again",
		"	for i := 0; i < im.n; i++ {\n		p, was",
		"	for i := 0; i < im.n && !FAULT; i++ {\n		p, was",
	},
	{
		"maps go by the addresses of pointers",
		"hash",
		"		o, offset := cporNameOf(*(*uintptr)(p))",
		"		o, offset := cporNameOf(*(*uintptr)(p))\n" +
			"		if FAULT { o, offset = 0, uint64(*(*uintptr)(p)) }",
	},
	{
		"values of locks are always equal",
		"tell",
		"	return cporMix(v, 1) | 1",
		"	if FAULT { v = 0 }\n	return cporMix(v, 1) | 1",
	},
	{
		"values of tokens are always equal",
		"clocks",
		"		return e.now[place/64] >> (place % 64) & 1",
		"		if FAULT { return 0 }\n		return e.now[place/64] >> (place % 64) & 1",
	},
}

// What the victims call in assembly.
const (
	inAssembly = `package a

//go:noescape
func write(p *int, x int)
`
	assembly = `#include "textflag.h"

TEXT ·write(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ x+8(FP), BX
	MOVQ BX, (AX)
	RET
`
)

const victims = `package a

import (
	"math/big"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func both(a, b func()) {
	var wg sync.WaitGroup
	wg.Go(a)
	wg.Go(b)
	wg.Wait()
}

func TestMutex(t *testing.T) {
	var mu sync.Mutex
	n := 0
	f := func() {
		for range 2 {
			mu.Lock()
			n++
			mu.Unlock()
		}
	}
	both(f, f)
	if n != 4 {
		t.Fatal(n)
	}
}

func TestStore(t *testing.T) {
	var a, b atomic.Int32
	var x, y int32
	both(func() { a.Store(1); x = b.Load() }, func() { b.Store(1); y = a.Load() })
	if x+y == 0 {
		t.Fatal("not sequentially consistent")
	}
}

func TestMessage(t *testing.T) {
	data := 0
	c := make(chan bool)
	both(func() { data = 1; close(c) }, func() {
		<-c
		if data != 1 {
			t.Error(data)
		}
	})
}

func TestRace(t *testing.T) {
	x := 0
	both(func() { x = 1 }, func() { x = 2 })
	_ = x
}

func TestLoadWrite(t *testing.T) {
	x := int32(0)
	both(func() { atomic.LoadInt32(&x) }, func() { x = 1 })
}

func TestWriteLoad(t *testing.T) {
	x := int32(0)
	both(func() { x = 1 }, func() { atomic.LoadInt32(&x) })
}

func TestBehind(t *testing.T) {
	var mu sync.Mutex
	x := 0
	f := func() { mu.Lock(); mu.Unlock(); x = 1 }
	both(f, f)
	_ = x
}

var global int

func TestGlobal(t *testing.T) {
	var mu sync.Mutex
	f := func() { mu.Lock(); global++; mu.Unlock() }
	both(f, f)
	if global != 2 {
		t.Fatal(global)
	}
}

var (
	counts = map[string]int{"a": 1}
	queue  = make(chan string, 2)
	flags  struct{ a, b bool }
	large  = new(big.Int).Lsh(big.NewInt(1), 200)
	once   = sync.OnceValue(func() int { return 5 })

	late    sync.WaitGroup
	readers sync.RWMutex
)

func init() { queue <- "x"; late.Add(2); readers.RLock() }

// steps does something in two orders.
func steps(f func()) {
	var mu sync.Mutex
	both(func() { mu.Lock(); f(); mu.Unlock() }, func() { mu.Lock(); mu.Unlock() })
}

func TestCounts(t *testing.T) {
	if _, ok := counts["b"]; ok || len(counts) != 1 || counts["a"] != 1 {
		t.Fatal(counts)
	}
	steps(func() { counts["a"]++; counts["b"]++ })
}

func TestLate(t *testing.T) { // waits for what initializers have added
	go func() { late.Done(); late.Done() }()
	late.Wait()
}

func TestReaders(t *testing.T) {
	go readers.RUnlock()
	readers.Lock()
}

func TestQueue(t *testing.T) {
	steps(func() {
		if x := <-queue; x != "x" {
			t.Fatal(x)
		}
		queue <- "y"
		queue <- "z"
	})
}

func TestFlags(t *testing.T) {
	steps(func() {
		if flags.a || flags.b {
			t.Fatal(flags.a, flags.b)
		}
		flags.b = true
	})
}

func TestLarge(t *testing.T) {
	if large.TrailingZeroBits() != 200 {
		t.Fatal(large)
	}
	steps(func() { large.Sub(large, big.NewInt(1)) })
}

var (
	written int
	box     = new(int)
)

func TestVariable(t *testing.T) { inPlace(t, &written) }
func TestObject(t *testing.T)   { inPlace(t, box) }

func inPlace(t *testing.T, p *int) {
	if *p != 0 {
		t.Fatal("begins with", *p)
	}
	c := make(chan int, 2)
	both(func() { c <- 1 }, func() { c <- 2 })
	write(p, 7)
}

func TestOnce(t *testing.T) { steps(func() { once() }) }

func TestPointers(t *testing.T) {
	c, m := make(chan int, 2), map[*[64]byte]int{}
	var seen [20]atomic.Int32
	t.Cleanup(func() { seen[0].Load() }) // so it is not on the stack
	for i := range seen {
		m[new([64]byte)] = i
	}
	both(func() { c <- 1 }, func() { c <- 2 })
	for _, i := range m {
		seen[i].Add(1)
	}
}

func TestClock(t *testing.T) {
	begin := time.Now()
	time.Sleep(time.Hour)
	if d := time.Since(begin); d < time.Hour {
		t.Fatal(d)
	}
}

func TestAlarms(t *testing.T) {
	c := make(chan int, 2)
	both(func() { time.Sleep(2 * time.Millisecond); c <- 2 }, func() { time.Sleep(time.Millisecond); c <- 1 })
}

func TestMeet(t *testing.T) {
	a, b := make(chan int), make(chan int)
	both(func() {
		select {
		case a <- 1:
		case <-b:
		}
	}, func() {
		select {
		case <-a:
		case b <- 2:
		}
	})
}

func TestTwo(t *testing.T) {
	a, b := make(chan int, 1), make(chan int, 1)
	a <- 1
	b <- 1
	select {
	case <-a:
	case <-b:
	}
}

func TestCond(t *testing.T) {
	var mu sync.Mutex
	c := sync.NewCond(&mu)
	ready := false
	f := func() {
		mu.Lock()
		for !ready {
			c.Wait()
		}
		mu.Unlock()
	}
	go f()
	go f()
	mu.Lock()
	ready = true
	c.Broadcast()
	mu.Unlock()
}

func TestLeak(t *testing.T) { go func() { select {} }() }

func TestMap(t *testing.T) {
	m := map[int]*sync.Mutex{}
	for i := range 40 {
		m[i] = new(sync.Mutex)
	}
	var first sync.Mutex
	f := func() {
		for range 2 {
			first.Lock()
			first.Unlock()
			for _, mu := range m {
				mu.Lock()
				mu.Unlock()
				break
			}
		}
	}
	both(f, f)
}

func TestObjects(t *testing.T) {
	var first sync.Mutex
	lock := func(mu *sync.Mutex) {
		mu.Lock()
		mu.Unlock()
	}
	both(func() { lock(&first); lock(new(sync.Mutex)) }, func() { lock(new(sync.Mutex)); lock(&first) })
}

func TestParts(t *testing.T) {
	c := make(chan int, 2)
	c <- 1
	both(func() { c <- 2 }, func() { <-c })
}

func TestCount(t *testing.T) {
	c := make(chan int, 1)
	go func() { c <- 1 }()
	if n := runtime.NumGoroutine(); n < 2 || n > 3 {
		t.Fatal(n)
	}
}

func TestLog(t *testing.T) {
	c := make(chan int)
	t.Run("a", func(t *testing.T) { go func() { t.Log(); close(c) }() })
	<-c
}

func TestReads(t *testing.T) {
	both(func() { time.Sleep(time.Second) }, func() { time.Now() })
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		go func() { n++ }()
		synctest.Wait()
		c := make(chan int)
		go func() { c <- n }()
		select {
		case <-c:
		case <-time.After(time.Second):
			t.Error("late")
		}
	})
}

var initial = time.After(time.Second)

func TestInitial(t *testing.T) { <-initial }

func TestReuse(t *testing.T) {
	f := func() {
		for range 80 {
			x := new(struct {
				mu  sync.Mutex
				buf [1 << 20]byte
				small *int
			})
			x.mu.Lock()
			x.buf[5] = 1
			x.mu.Unlock()
			for range 1000 {
				x.small = new(int)
				*x.small = 1
			}
		}
	}
	both(f, f)
}

// The environment is not given back in the same process.
func TestForked(t *testing.T) {
	if os.Getenv("CPOR_FORKED") != "" {
		t.Fatal("it is set")
	}
	os.Setenv("CPOR_FORKED", "1")
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { mu.Lock(); mu.Unlock() })
	}
	wg.Wait()
}

func TestForkedInitial(t *testing.T) {
	os.Setenv("CPOR_FORKED_INITIAL", "1")
	<-initial
}
`

// results explores the victims and says what came out, a line for each.
func results(t *testing.T, b *native.Binary) (out []string) {
	for _, m := range regexp.MustCompile(`func (Test\w+)`).FindAllStringSubmatch(victims, -1) {
		out = append(out, result(t, b, m[1]))
	}
	return out
}

// result explores a victim with this environment.
func result(t *testing.T, b *native.Binary, test string, env ...string) string {
	return test + ": " + explored(t, b, test, env)
}

func explored(t *testing.T, b *native.Binary, test string, env []string) (out string) {
	defer func() {
		if v := recover(); v != nil {
			stop, ok := v.(*replay.Stop)
			if !ok {
				panic(v)
			}
			out = kindOf(stop)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sys, err := replay.New(ctx, func() (native.Process, error) {
		return b.Start(test, native.Auto, native.Limits{}, env...)
	}, b, replay.Options{MaxSteps: 1000})
	if err != nil {
		return kindOf(err)
	}
	defer sys.Close()
	res, err := stateless.Run(ctx, sys, stateless.Options{
		Options: engine.Options{Workers: 1, KeepTraces: true}, Reduction: stateless.DPOR,
		Executed: func(m system.Machine) { m.(*replay.Machine).Verify() }})
	if err != nil {
		return kindOf(err)
	}
	if len(res.Violations) > 0 {
		return string(res.Violations[0].Kind)
	}
	return fmt.Sprintf("%v, %d executions", res.Verdict, res.Executions)
}

// kindOf says which error it is that ends a search, without what differs from time to time.
func kindOf(err error) string {
	var found *replay.Found
	switch {
	case errors.As(err, &found):
		return string(found.Violation.Kind)
	case strings.Contains(err.Error(), "data race"):
		return "race"
	}
	return "an error"
}

// healthy are the results without a fault. The interpreter has the same ones, except that there
// both goroutines of TestMap begin at the same key.
var healthy = []string{
	"TestMutex: pass, 6 executions",
	"TestStore: pass, 3 executions",
	"TestMessage: pass, 1 executions",
	"TestRace: race",
	"TestLoadWrite: race",
	"TestWriteLoad: race",
	"TestBehind: race",
	"TestGlobal: pass, 2 executions",
	"TestCounts: pass, 2 executions",
	"TestLate: pass, 1 executions",
	"TestReaders: pass, 1 executions",
	"TestQueue: pass, 2 executions",
	"TestFlags: pass, 2 executions",
	"TestLarge: pass, 2 executions",
	"TestVariable: pass, 2 executions",
	"TestObject: pass, 2 executions",
	"TestOnce: pass, 2 executions",
	"TestPointers: pass, 2 executions",
	"TestClock: pass, 1 executions",
	"TestAlarms: pass, 6 executions",
	"TestMeet: pass, 2 executions",
	"TestTwo: pass, 2 executions",
	"TestCond: pass, 10 executions",
	"TestLeak: deadlock",
	"TestMap: pass, 6 executions",
	"TestObjects: pass, 2 executions",
	"TestParts: pass, 1 executions",
	"TestCount: pass, 3 executions",
	"TestLog: pass, 2 executions",
	"TestReads: pass, 2 executions",
	"TestBubble: pass, 1 executions",
	"TestInitial: pass, 1 executions",
	"TestReuse: pass, 1 executions",
	"TestForked: pass, 6 executions",
	"TestForkedInitial: pass, 1 executions",
}

// TestSabotage: the results of the victims are what they must be, and each fault changes one. The
// binary has all faults; a variable of the environment switches one on.
func TestSabotage(t *testing.T) {
	needLong(t)
	files := map[string]string{"a_test.go": victims, "a.go": inAssembly, "a_amd64.s": assembly}
	seen := map[string]bool{}
	defer native.Tamper(func(name string, text []byte) []byte {
		for i, f := range faults {
			if name != "runtime_"+f.file+".go.txt" {
				continue
			}
			if bytes.Count(text, []byte(f.old)) != 1 {
				t.Fatalf("%s: %d places", f.name, bytes.Count(text, []byte(f.old)))
			}
			seen[f.name] = true
			condition := fmt.Sprintf("(cporFault == %d)", i+1)
			text = bytes.Replace(text, []byte(f.old),
				[]byte(strings.ReplaceAll(f.new, "FAULT", condition)), 1)
		}
		if name == "runtime_race.go.txt" {
			text = bytes.Replace(text, []byte("func cporInit() {"), []byte("var cporFault int\n\n"+
				"func cporInit() {\n	for _, c := range []byte(gogetenv(\"CPOR_FAULT\")) {\n"+
				"		cporFault = cporFault*10 + int(c-'0')\n	}"), 1)
		}
		return text
	})()
	dir := module(t, "1.25", files)
	b := build(t, native.BuildOptions{Dir: dir, Package: ".", Cache: t.TempDir()})
	if len(seen) != len(faults) {
		t.Fatalf("%d of %d faults are built in", len(seen), len(faults))
	}
	if got := results(t, b); !slices.Equal(got, healthy) {
		t.Fatalf("without a fault:\n%s", strings.Join(got, "\n"))
	}
	for i, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			for _, want := range healthy {
				test, _, _ := strings.Cut(want, ":")
				if got := result(t, b, test, fmt.Sprintf("CPOR_FAULT=%d", i+1)); got != want {
					t.Log(got)
					return
				}
			}
			t.Error("nobody notices")
		})
	}
}

// everything returns a test that uses the loopback, in a package that imports what the overlay
// changes, so that all of it is compiled.
func everything() string {
	imports := ""
	for _, path := range native.Changed() {
		if !strings.Contains(path, "internal") {
			imports += fmt.Sprintf("\t_ %q\n", path)
		}
	}
	return `package all

import (
` + imports + `
	"io"
	"net"
	"testing"
)

func TestLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err == nil {
			c.Write([]byte("hello"))
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); string(b) != "hello" {
		t.Error(string(b), err)
	}
	c.Close()
	l.Close()
}
`
}

// TestOtherGo: with other versions of Go, which the go command downloads, the results are the same,
// or it is said that there is no native machine.
func TestOtherGo(t *testing.T) {
	needLong(t)
	dir := module(t, "1.24", map[string]string{"a_test.go": victims, "a.go": inAssembly,
		"a_amd64.s": assembly, "all/a_test.go": everything()})
	loopback := result(t, build(t, native.BuildOptions{Package: "./all", Dir: dir}), "TestLoopback")
	if !strings.Contains(loopback, "pass") {
		t.Fatal(loopback)
	}
	for _, version := range []string{"go1.25.5", "go1.24.11"} {
		t.Run(version, func(t *testing.T) {
			env := []string{"GOTOOLCHAIN=" + version}
			c := exec.Command("go", "version")
			c.Dir, c.Env = t.TempDir(), append(os.Environ(), env...)
			if out, err := c.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(version)) {
				t.Skipf("it cannot be downloaded: %s", out)
			}
			o := native.BuildOptions{Package: ".", Env: env, Dir: dir}
			if version < "go1.25" {
				if _, err := native.Build(t.Context(), o); !errors.As(err,
					new(*native.Unsupported)) {
					t.Error(err)
				}
				return
			}
			if got := results(t, build(t, o)); !slices.Equal(got, healthy) {
				t.Error(strings.Join(got, "\n"))
			}
			o.Package = "./all"
			if got := result(t, build(t, o), "TestLoopback"); got != loopback {
				t.Errorf("%s, want %s", got, loopback)
			}
		})
	}
}
