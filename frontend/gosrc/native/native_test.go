package native_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/frontend/gosrc/native"
	"cpor/system"
	"cpor/testkit/gotable"
	"cpor/testkit/sample"
)

var (
	most = flag.Duration("most", 2*time.Minute, "how long to run programs")
	only = flag.String("only", "", "run only the programs whose name matches this regular "+
		"expression")
)

func needLong(t testing.TB) {
	if !sample.Long() {
		t.Skip("compiles Go's library once: -long")
	}
}

// module writes a module and returns its directory.
func module(t testing.TB, goVersion string, files map[string]string) string {
	dir := t.TempDir()
	files["go.mod"] = "module m\n\ngo " + goVersion + "\n"
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func build(t testing.TB, o native.BuildOptions) *native.Binary {
	b, err := native.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func start(t *testing.T, b *native.Binary, test string, mode native.Mode) native.Process {
	p, err := b.Start(test, mode, native.Limits{Step: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// all calls f for the executions that differ in a choice, at most max of them, and tells
// whether these were all.
func all(t *testing.T, p native.Process, max int, f func(x *native.Execution)) (complete bool) {
	type point struct {
		choices []native.Choice
		next    int
	}
	var path []point
	for n := 0; ; n++ {
		if n == max {
			return false
		}
		prefix := make([]native.Choice, len(path))
		for i, q := range path {
			prefix[i] = q.choices[q.next]
		}
		x, err := p.Run(t.Context(), prefix, native.Policy{MaxSteps: 400})
		if err != nil {
			t.Errorf("%v with %v", err, prefix)
			return false
		}
		f(x)
		if x.End == native.TooLarge {
			return false
		}
		// Who could run at each point behind the prefix.
		now := map[int32]int32{}
		note := func(ps []native.Pending) {
			for _, q := range ps {
				now[q.Thread] = q.Enabled
			}
		}
		note(x.First)
		for i, s := range x.Steps {
			if i >= len(prefix) {
				q := point{choices: []native.Choice{s.Choice}}
				for _, th := range slices.Sorted(maps.Keys(now)) {
					for alt := range now[th] {
						if c := (native.Choice{Thread: th, Alt: alt}); c != s.Choice {
							q.choices = append(q.choices, c)
						}
					}
				}
				path = append(path, q)
			}
			note(s.After)
		}
		for len(path) > 0 && path[len(path)-1].next+1 == len(path[len(path)-1].choices) {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return true
		}
		path[len(path)-1].next++
	}
}

// outcome returns what a table says of such an end.
func outcome(x *native.Execution, pkg string) gotable.Outcome {
	ending := ""
	switch {
	case x.Failure != nil && x.Failure.Kind == "panic", x.Failure != nil &&
		x.Failure.Kind == "fatal":
		line, _, _ := strings.Cut(x.Failure.Message, "\n")
		ending = string(x.Failure.Kind) + ": " + line
	case x.Failure != nil && x.Failure.Kind == "race":
		ending = "race"
	case x.End == native.Exited && x.Failure != nil:
		ending = "exit " + strings.TrimSuffix(strings.TrimPrefix(x.Failure.Message, "os.Exit("),
			")")
	case x.End == native.Deadlock:
		ending = "deadlock"
	case x.End == native.Cut:
		ending = "livelock"
	case x.End != native.Passed && x.End != native.Exited:
		ending = fmt.Sprintf("end %d %v", x.End, x.Failure)
	}
	if ending == "exit 0" {
		ending = ""
	}
	// The programs are packages of one module here.
	r := strings.NewReplacer("m/"+pkg, "main", pkg, "main")
	return gotable.NewOutcome(r.Replace(string(x.Output)), r.Replace(ending))
}

// outside are programs that use real files or signals here, or what differs in a test
// binary.
var outside = []string{"files/", "library/signals", "library/command_line",
	"library/log_places"}

// copies are programs in which a lock is copied or overwritten while others use it: here a plain
// access to a lock is not a point of its own.
var copies = []string{"sync/copied_while_locked", "sync/copied_while_appended",
	"sync/overwritten_lock", "sync/overwritten_counter"}

// texts are programs in which it matters when something is printed, which is not a point here,
// which read the clock without time passing, or in which main calls Goexit.
var texts = []string{"panics/panic_in_goroutine", "time/after_func_after_main", "time/clock_ticks",
	"panics/goexit_in_main"}

// TestOutcomes: the outcomes of the programs of the tables, under all schedules or many of them,
// are those that stand there.
func TestOutcomes(t *testing.T) {
	needLong(t)
	programs, err := gotable.Read("../testdata/outcomes")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	var tests strings.Builder
	var imports strings.Builder
	var run []gotable.Program
	for _, p := range programs {
		if p.GoVersion != gotable.DefaultGoVersion || len(p.Flags) > 0 ||
			!regexp.MustCompile(*only).MatchString(p.Name) {
			continue
		}
		if slices.ContainsFunc(slices.Concat(outside, copies, texts), func(s string) bool {
			return p.Name == s || strings.HasSuffix(s, "/") && strings.HasPrefix(p.Name, s)
		}) {
			continue
		}
		pkg := fmt.Sprintf("p%d", len(run))
		src := strings.Replace(p.Source, "package main", "package "+pkg, 1)
		src = strings.Replace(src, "func main()", "func Main()", 1)
		files[pkg+"/p.go"] = src
		fmt.Fprintf(&imports, "import %q\n", "m/"+pkg)
		fmt.Fprintf(&tests, "func Test_%s(t *testing.T) { %s.Main(); runtime.Gosched() }\n", pkg,
			pkg)
		run = append(run, p)
	}
	files["all_test.go"] = "package m\n\nimport (\n\"runtime\"\n\"testing\"\n)\n" +
		imports.String() + tests.String()
	b := build(t, native.BuildOptions{Dir: module(t, gotable.DefaultGoVersion, files), Package: ".",
		Main: true})
	found, expected, complete := 0, 0, 0
	begun := time.Now()
	for _, i := range rand.New(rand.NewPCG(1, 0)).Perm(len(run)) { // some of each kind come first
		prog := run[i]
		t.Run(prog.Name, func(t *testing.T) {
			if time.Since(begun) > *most {
				t.Skip("no time left: -most")
			}
			p := start(t, b, fmt.Sprintf("Test_p%d", i), native.Auto)
			got := map[gotable.Outcome]bool{}
			see := func(x *native.Execution) {
				o := outcome(x, fmt.Sprintf("p%d", i))
				// A table says no more of a program that races, and a bound is not an outcome.
				if !slices.Contains(prog.Outcomes, o) && (o.Ending == "livelock" ||
					slices.Contains(prog.Outcomes, gotable.Outcome{Ending: "race"})) {
					return
				}
				if !got[o] && !slices.Contains(prog.Outcomes, o) {
					var frames []native.Stack
					if x.Failure != nil {
						frames = x.Failure.Stacks
					}
					t.Errorf("%v is not an outcome of the program %v", o, frames)
				}
				got[o] = true
			}
			var hashes [5]uint64
			for n := range uint64(50) {
				seed := n % 45 // the first ones again, when the process has run others
				x, err := p.Run(t.Context(), nil, native.Policy{Kind: native.Random, Seed: seed,
					MaxSteps: 2000})
				if err != nil {
					t.Fatal(err)
				}
				see(x)
				if x.End == native.TooLarge {
					return
				}
				if n < 5 {
					hashes[n] = x.Hash
				} else if seed < 5 && x.Hash != hashes[seed] && len(x.Outside) == 0 {
					t.Errorf("seed %d: the same choices led to another execution", seed)
				}
			}
			done := all(t, p, 400, see)
			if done {
				complete++
			}
			expected += len(prog.Outcomes)
			for _, o := range prog.Outcomes {
				if got[o] {
					found++
				} else if done {
					t.Errorf("%v is not found", o)
				}
			}
		})
	}
	t.Logf("%d of %d outcomes of %d programs found, %d programs covered", found, expected, len(run),
		complete)
}

// TestDiverged: choices that cannot be followed.
func TestDiverged(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Package: ".", Dir: module(t, "1.25", map[string]string{
		"a_test.go": "package a\nimport \"testing\"\nfunc TestA(t *testing.T) {}\n"})})
	p := start(t, b, "TestA", native.Auto)
	var d *native.Diverged
	for _, prefix := range [][]native.Choice{{{Thread: 7}}, {{Thread: 0, Alt: 3}}} {
		if _, err := p.Run(context.Background(), prefix, native.Policy{}); !errors.As(err, &d) {
			t.Errorf("%v: %v", prefix, err)
		}
	}
	if x, err := p.Run(context.Background(), []native.Choice{{}}, native.Policy{}); err != nil ||
		x.End != native.Passed {
		t.Errorf("%v, %v", x, err)
	}
}

// TestFileChanges: an execution in which a file is not what it was is another one.
func TestFileChanges(t *testing.T) {
	needLong(t)
	dir := module(t, "1.25", map[string]string{"a_test.go": various})
	p := start(t, build(t, native.BuildOptions{Package: ".", Dir: dir}), "TestFile", native.Auto)
	run := func() uint64 {
		x, err := p.Run(t.Context(), nil, native.Policy{})
		if err != nil || x.Outside != nil {
			t.Fatal(x, err)
		}
		return x.Hash
	}
	first := run()
	if again := run(); again != first {
		t.Error("equal files make different executions")
	}
	if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("no"), 0o666); err != nil {
		t.Fatal(err)
	}
	if again := run(); again == first {
		t.Error("different files make equal executions")
	}
}

const various = `package a

import (
	"crypto/rand"
	"flag"
	"io"
	"math/big"
	"net"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestMany(t *testing.T) {
	a := make([]atomic.Int32, 40_000)
	for i := range a {
		a[i].Add(1)
	}
}

func TestFive(t *testing.T) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	n, c := 0, make(chan int, 2)
	for i := range 5 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.Lock()
			n++
			mu.Unlock()
			c <- i
		}()
	}
	for range 5 {
		<-c
	}
	wg.Wait()
	if n != 5 {
		t.Fatal(n)
	}
}

var begun int

func init() { // waits for a goroutine that waits for another one
	c := make(chan int)
	go func() {
		var mu sync.Mutex
		mu.Lock()
		go func() { begun = 7; mu.Unlock() }()
		mu.Lock()
		c <- begun
	}()
	<-c
}

func TestBegun(t *testing.T) {
	if begun != 7 {
		t.Fatal(begun)
	}
}

var count int

type locked struct{ sync.RWMutex }

func TestCopied(t *testing.T) {
	var l locked
	done := make(chan bool)
	go func() { l.Lock(); l.Unlock(); close(done) }()
	l.RLock()
	c := l
	l.RUnlock()
	c.RLock() // waits forever if a writer has waited
	<-done
}

func TestHeld(t *testing.T) { // nobody can be about to lock what is copied
	var l locked
	done := make(chan bool)
	go func() { l.Lock(); l.Unlock(); close(done) }()
	l.Lock()
	c := l
	l.Unlock()
	<-done
	c.Unlock()
}

func TestGlobal(t *testing.T) {
	if count++; count != 1 {
		t.Fatal("begins with", count)
	}
}

var (
	stock   = map[string]int{"a": 1}
	many    = map[int]int{}
	queue   = make(chan string, 2)
	gate    sync.Mutex
	readers sync.RWMutex
	once    sync.Once
	ticks   atomic.Int32
	held    atomic.Value
	pair    struct{ a, b bool }
	list    = []int{1, 2, 3}
	ref     = &list[2]
	large   = new(big.Int).Lsh(big.NewInt(1), 200)
	dropped = &[]int{1, 2, 3}
	pool    sync.Pool
	empty   = sync.Pool{New: func() any { return 7 }}
)

func init() {
	queue <- "x"
	pool.Put(1)
	pool.Put(2)
	for i := range 1000 {
		many[i] = i
	}
}

func TestKept(t *testing.T) {
	ran := false
	once.Do(func() { ran = true })
	if len(stock) != 1 || stock["a"] != 1 || len(many) != 1000 || many[999] != 999 ||
		len(queue) != 1 || !gate.TryLock() || !readers.TryLock() || !ran || ticks.Load() != 0 ||
		pool.Get() != 2 || empty.Get() != 7 || held.Load() != nil || pair.a || pair.b ||
		len(list) != 3 || list[1] != 2 || *ref != 3 {
		t.Fatal("does not begin as the first time")
	}
	pool.Put(3)
	empty.Put(4)
	readers.Unlock()
	readers.RLock()
	delete(stock, "a")
	stock["b"] = 2
	for i := range 3000 {
		many[i] = -i
	}
	<-queue
	queue <- "y"
	queue <- "z"
	close(queue)
	ticks.Add(3)
	held.Store("x")
	pair.b = true
	*ref, ref = 4, new(int)
	list = append(list[:1], 5)
}

func TestLarge(t *testing.T) { // assembly changes it in place
	if large.TrailingZeroBits() != 200 {
		t.Fatal(large)
	}
	large.Sub(large, big.NewInt(1))
}

var header [4]byte

func TestHeader(t *testing.T) { // the kernel changes it in place
	if header[0] != 0 {
		t.Fatal(header)
	}
	f, err := os.Open("a_test.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Read(header[:])
}

type pointed struct {
	name string
	at   [1]*int
}

var (
	oldKeys []*[3]int
	oldMap  = map[*[3]int]int{}
	_       = reflect.PointerTo(reflect.TypeFor[pointed]()) // has a map of pointers, too
)

func init() {
	for i := range 40 {
		oldKeys = append(oldKeys, new([3]int))
		oldMap[oldKeys[i]] = i
	}
}

func TestOldMap(t *testing.T) { // its keys keep their hashes
	for i, k := range oldKeys {
		if got, ok := oldMap[k]; got != i || !ok {
			t.Error(i, got)
		}
	}
	k := new([3]int)
	oldMap[k] = 40
	if delete(oldMap, oldKeys[1]); oldMap[k] != 40 || len(oldMap) != 40 {
		t.Error(oldMap[k], len(oldMap))
	}
}

func TestRange(t *testing.T) { // in an order that is the same in all executions
	chans, anys, structs := map[chan int]int{}, map[any]int{}, map[pointed]int{}
	var keys []chan int
	for i := range 40 {
		c := make(chan int)
		keys = append(keys, c)
		chans[c], anys[c], anys[i], structs[pointed{"a", [1]*int{new(int)}}] = i, i, i, i
	}
	var seen [40]atomic.Int32
	for _, i := range chans {
		seen[i].Add(1)
	}
	for _, i := range anys {
		seen[i].Add(1)
	}
	for _, i := range structs {
		seen[i].Add(1)
	}
	for i, c := range keys {
		if chans[c] != i || anys[c] != i || seen[i].Load() != 4 {
			t.Error(i)
		}
		delete(chans, c)
	}
	if len(chans) > 0 {
		t.Error(chans)
	}
}

func TestDropped(t *testing.T) { // is collected
	if (*dropped)[1] != 2 {
		t.Fatal(*dropped)
	}
	dropped = nil
	for range 80 {
		_ = make([]byte, 1<<20)
	}
}

func TestRace(t *testing.T) {
	x, done := 0, make(chan bool)
	go func() {
		x++
		close(done)
	}()
	x++
	<-done
}

func TestAfterLoad(t *testing.T) { // the alarm of the second goroutine goes off later
	x, done := new(int32), make(chan bool, 2)
	go func() { atomic.LoadInt32(x); done <- true }()
	go func() { time.Sleep(1); *x = 1; done <- true }()
	<-done
	<-done
}

func TestAfterStore(t *testing.T) {
	x, done := new(int32), make(chan bool, 2)
	go func() { atomic.StoreInt32(x, 1); done <- true }()
	go func() { time.Sleep(1); _ = *x; done <- true }()
	<-done
	<-done
}

func TestAfterAtomics(t *testing.T) { // no race: what is plain is ordered, or reads with a load
	x, y, done := new(int32), new(int32), make(chan bool, 2)
	go func() { *y = 1; atomic.StoreInt32(x, 1); done <- true }()
	go func() {
		for !atomic.CompareAndSwapInt32(x, 1, 2) {
			time.Sleep(1)
		}
		*x += *y
		done <- true
	}()
	<-done
	<-done
	atomic.LoadInt32(y)
	go func() { _ = *y; done <- true }()
	<-done
	*x, *y = 0, 0
}

func TestBytes(t *testing.T) { // no race: different bytes of a word
	var x [8]byte
	var wg sync.WaitGroup
	for i := range x {
		wg.Go(func() { x[i] = 1 })
	}
	wg.Wait()
}

func TestSpin(t *testing.T) {
	for i := 0; ; i++ {
		count = i
	}
}

func TestHog(t *testing.T) {
	var all [][]byte
	for {
		all = append(all, make([]byte, 1<<20))
	}
}

func TestOpen(t *testing.T) { // it stays open
	f, err := os.Open("a_test.go")
	if err != nil || f.Fd() > 100 {
		t.Fatal(f, err)
	}
	f.Read(make([]byte, 10))
}

func TestShare(t *testing.T) { // who reads what depends on their order
	f, _ := os.Open("a_test.go")
	done := make(chan bool)
	go func() { f.Read(make([]byte, 1)); close(done) }()
	<-done
}

func TestDraw(t *testing.T) { rand.Text() }

func TestSubtests(t *testing.T) { // what package testing does in between orders nothing
	n := 0
	for range 2 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			n++
		})
	}
}

func TestHelper(t *testing.T) { // has a map for all goroutines
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(t.Helper)
		wg.Go(func() { t.Helper(); t.Log("x") })
	}
	wg.Wait()
}

func TestLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if c, err := l.Accept(); err == nil {
			io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Hour))
	b := make([]byte, 2)
	if _, err := c.Write([]byte("hi")); err != nil {
		return
	}
	if _, err := io.ReadFull(c, b); err == nil && string(b) != "hi" {
		t.Error(string(b))
	}
}

func TestPacket(t *testing.T) {
	if c, err := net.ListenPacket("udp", "127.0.0.1:0"); err == nil {
		c.Close()
	}
}

func TestEnv(t *testing.T) {
	if os.Getenv("CPOR_X") != "" {
		t.Fatal("begins with it")
	}
	os.Setenv("CPOR_X", "1")
}

var level = flag.Int("level", 0, "")

func TestFlag(t *testing.T) {
	if *level != 0 {
		t.Fatal("begins with", *level)
	}
	flag.Set("level", "1")
}

func TestReflect(t *testing.T) {
	var wg sync.WaitGroup
	for _, f := range []any{func(int8, string) {}, func(int16, []string) {}} {
		wg.Go(func() {
			v := reflect.ValueOf(f)
			v.Call([]reflect.Value{reflect.Zero(v.Type().In(0)), reflect.Zero(v.Type().In(1))})
		})
	}
	wg.Wait()
}

func TestLeak(t *testing.T)  { go func() { select {} }() }
func TestDead(t *testing.T)  { <-make(chan int) }
func TestLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go func() { select {} }()
		var mu sync.Mutex
		mu.Lock()
		go mu.Lock()
	})
}
func TestPanic(t *testing.T) { go func() { panic("boom") }() }
func TestError(t *testing.T) { t.Error("wrong", 7) }
func TestSkip(t *testing.T)  { t.Skip("not today") }
func TestExit(t *testing.T)  { os.Exit(3) }
func TestFile(t *testing.T)  { os.ReadFile("a_test.go") }
func TestWrite(t *testing.T) { os.WriteFile("b", nil, 0o666) }
func TestProc(t *testing.T)  { os.ReadFile("/proc/self/stat") }
func TestFatal(t *testing.T) { new(sync.Mutex).Unlock() }
func TestPid(t *testing.T) {
	var n atomic.Int32
	for range os.Getpid() % 9973 % 97 {
		n.Load()
	}
	if p, err := os.FindProcess(os.Getpid()); err != nil || p.Signal(syscall.Signal(0)) != nil {
		t.Error(err)
	}
}
func TestWroteFirst(t *testing.T) {
	var n atomic.Int32
	x := 0
	c := make(chan int, 1)
	go func() {
		x = 1 // the race
		n.Load()
		c <- x
	}()
	for len(c) == 0 { // which orders nothing
	}
	x = 2
}
func TestKill(t *testing.T)  { syscall.Kill(os.Getpid(), syscall.SIGKILL) }
`

// TestRefused: a copy of a lock is no step, so that a test to which its order matters is refused.
func TestRefused(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Package: ".",
		Dir: module(t, "1.25", map[string]string{"a_test.go": various})})
	for _, test := range []string{"TestCopied", "TestHeld"} {
		p := start(t, b, test, native.Fork)
		refused := false
		for seed := range uint64(20) {
			_, err := p.Run(t.Context(), nil, native.Policy{Kind: native.Random, Seed: seed})
			if err != nil {
				if failed := new(native.RuntimeFailed); !errors.As(err, &failed) ||
					!strings.Contains(err.Error(), "copied") {
					t.Fatal(err)
				}
				refused = true
				break
			}
		}
		if refused != (test != "TestHeld") {
			t.Errorf("%s is refused: %v", test, refused)
		}
	}
}

// TestWroteFirst: the first stack of a data race is that of the write, also if its goroutine has
// read the same since then, and nobody could learn of that; and if steps before are known.
func TestWroteFirst(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Package: ".",
		Dir: module(t, "1.25", map[string]string{"a_test.go": various})})
	p := start(t, b, "TestWroteFirst", native.Repeat)
	var prefix []native.Choice
	for _, pol := range []native.Policy{{Kind: native.Random, Seed: 1}, {Known: 3}} {
		x, err := p.Run(t.Context(), prefix, pol)
		if err != nil || x.Failure == nil || x.Failure.Kind != "race" ||
			len(x.Failure.Stacks) != 2 || x.Known != pol.Known {
			t.Fatal(x, err)
		}
		at := x.Failure.Stacks[1].Frames[0].Pos.Line
		line := strings.Split(various, "\n")[at-1]
		if !strings.Contains(line, "the race") {
			t.Errorf("it is said to write here: %s", line)
		}
		for _, s := range x.Steps {
			prefix = append(prefix, s.Choice)
		}
	}
}

// TestWaitsFor: a deadlock says what everybody waits for.
func TestWaitsFor(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Package: ".",
		Dir: module(t, "1.25", map[string]string{"a_test.go": various})})
	x, err := start(t, b, "TestLeft", native.Fork).Run(t.Context(), nil, native.Policy{})
	if err != nil || x.End != native.Deadlock {
		t.Fatal(x, err)
	}
	var got []string
	for _, k := range x.Failure.Stacks {
		got = append(got, k.What)
	}
	want := []string{"waits for the other goroutines of its bubble", "waits in select {}",
		"waits: Lock"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMany: an execution may touch more locations than the process remembers to have told of.
func TestMany(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Package: ".",
		Dir: module(t, "1.25", map[string]string{"a_test.go": various})})
	p := start(t, b, "TestMany", native.Repeat)
	var before []native.Step
	for range 2 {
		x, err := p.Run(t.Context(), nil, native.Policy{})
		if err != nil || x.End != native.Passed {
			t.Fatal(x, err)
		}
		seen := map[system.Loc]bool{}
		for i, st := range x.Steps {
			if before != nil && !slices.Equal(st.Accesses, before[i].Accesses) {
				t.Fatalf("step %d accesses %v, and before %v", i, st.Accesses, before[i].Accesses)
			}
			if st.Op == native.OpUpdate {
				seen[st.Accesses[len(st.Accesses)-1].Loc] = true // that one is awake comes first
			}
		}
		if len(seen) != 40_000 {
			t.Errorf("%d locations are updated", len(seen))
		}
		before = slices.Clone(x.Steps)
	}
}

// TestKilled: if a process is killed between two executions, the next one has a new process. In an
// execution that is an error or a crash, never a pass.
func TestKilled(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Package: ".",
		Dir: module(t, "1.25", map[string]string{"a_test.go": various})})
	for _, mode := range []native.Mode{native.Repeat, native.Fork} {
		p := start(t, b, "TestFive", mode)
		hashes := map[uint64]bool{}
		for range 6 {
			x, err := p.Run(t.Context(), nil, native.Policy{})
			if err != nil || x.End != native.Passed {
				t.Fatalf("mode %d: %v, %v", mode, x != nil, err)
			}
			hashes[x.Hash] = true
			if err := native.Kill(p); err != nil {
				t.Fatal(err)
			}
		}
		if len(hashes) != 1 {
			t.Errorf("mode %d: equal choices give %d different executions", mode, len(hashes))
		}
	}
	p := start(t, b, "TestKill", native.Repeat)
	if x, err := p.Run(t.Context(), nil, native.Policy{}); err == nil {
		t.Errorf("it kills itself: %+v", x)
	}
	p = start(t, b, "TestKill", native.Fork)
	for range 2 {
		x, err := p.Run(t.Context(), nil, native.Policy{})
		if err != nil || x.End != native.Crashed || x.Failure == nil {
			t.Errorf("the child kills itself: %+v, %v", x, err)
		}
	}
}

// TestExpected: what is expected is executed in one exchange, and tells what it tells alone, also
// if something else is asked for, an execution cannot be, or the process ends.
func TestExpected(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Package: ".",
		Dir: module(t, "1.25", map[string]string{"a_test.go": various})})
	run := func(p native.Process, prefix []native.Choice) string {
		x, err := p.Run(t.Context(), prefix, native.Policy{Known: len(prefix)})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(x.End, x.Hash, x.First, x.Steps)
	}
	for _, mode := range []native.Mode{native.Repeat, native.Fork} {
		p := start(t, b, "TestFive", mode)
		x, err := p.Run(t.Context(), nil, native.Policy{})
		if err != nil {
			t.Fatal(err)
		}
		var prefixes [][]native.Choice
		for i, st := range x.Steps {
			for _, q := range st.After {
				if q.Enabled > 0 && q.Thread != st.Thread {
					var prefix []native.Choice
					for _, before := range x.Steps[:i+1] {
						prefix = append(prefix, before.Choice)
					}
					prefixes = append(prefixes, append(prefix, native.Choice{Thread: q.Thread}))
				}
			}
		}
		prefixes = append(prefixes, []native.Choice{{Thread: 0, Alt: 9}}, nil)
		if len(prefixes) < 5 {
			t.Fatal(prefixes)
		}
		var alone []string
		for _, prefix := range prefixes {
			alone = append(alone, run(p, prefix))
		}
		for round := range 4 {
			for _, prefix := range prefixes[1:] {
				p.Expect(prefix, native.Policy{Known: len(prefix)})
			}
			for i, prefix := range prefixes {
				if got := run(p, prefix); got != alone[i] {
					t.Errorf("mode %d, round %d, execution %d: %s, alone %s", mode, round, i, got,
						alone[i])
				}
				if i != 2 {
					continue
				}
				switch round {
				case 1: // something else
					if got := run(p, prefixes[0]); got != alone[0] {
						t.Errorf("mode %d, not expected: %s, alone %s", mode, got, alone[0])
					}
				case 2:
					if err := native.Kill(p); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	p := start(t, b, "TestGlobal", native.Repeat)
	p.Expect(nil, native.Policy{})
	for range 3 { // the second one must not begin with what the first one has left
		if x, err := p.Run(t.Context(), nil, native.Policy{}); err != nil || x.Failure != nil {
			t.Errorf("%+v, %v", x, err)
		}
	}
}

// TestCopiedLocks: an execution in which nothing orders the copy of a lock and its use is given up,
// whichever comes first, and one in which a lock is overwritten has a race.
func TestCopiedLocks(t *testing.T) {
	needLong(t)
	const head = "package a\n\nimport (\n\"sync\"\n\"testing\"\n)\n\n" +
		"func beside(f, g func()) {\nc := make(chan int)\ngo func() { f(); close(c) }()\ng()\n<-c\n}\n"
	text, want := head, map[string]string{}
	for _, tt := range []struct{ name, use, copy, want string }{
		{"Mutex", "x.Lock(); x.Unlock()", "y := *x; y.Lock()", "copied"},
		{"TryMutex", "x.TryLock()", "y := *x; y.TryLock()", "copied"},
		{"RWMutex", "x.RLock(); x.RUnlock()", "y := *x; y.RLock()", "copied"},
		{"RWMutex", "x.Lock(); x.Unlock()", "y := *x; y.RLock()", "copied"},
		{"RWMutex", "x.TryRLock()", "y := *x; y.RLock()", "copied"},
		{"WaitGroup", "x.Add(1); x.Done()", "y := *x; y.Wait()", "copied"},
		{"Once", "x.Do(func() {})", "y := *x; y.Do(func() {})", "copied"},
		{"Mutex", "x.Lock(); x.Unlock()", "*x = sync.Mutex{}", "data race"},
		{"RWMutex", "x.RLock()", "*x = sync.RWMutex{}", "data race"},
	} {
		for i, order := range []string{
			"func() { " + tt.use + " }, func() { " + tt.copy + " }",
			"func() { " + tt.copy + " }, func() { " + tt.use + " }",
		} {
			name := fmt.Sprintf("Test%d%c", len(want), "AB"[i])
			text += fmt.Sprintf("\nfunc %s(t *testing.T) { x := new(sync.%s); beside(%s) }\n", name,
				strings.TrimPrefix(tt.name, "Try"), order)
			want[name] = tt.want
		}
	}
	b := build(t, native.BuildOptions{
		Package: ".", Dir: module(t, "1.25", map[string]string{"a_test.go": text})})
	for name, message := range want {
		p := start(t, b, name, native.Auto)
		for seed := range uint64(10) {
			x, err := p.Run(t.Context(), nil, native.Policy{Kind: native.Random, Seed: seed})
			got := fmt.Sprint(err)
			if err == nil && x.Failure != nil {
				got = x.Failure.Message
			}
			if !strings.Contains(got, message) {
				t.Errorf("%s: %s, want %s", name, got, message)
			}
		}
	}
}

// TestEnds: how executions end, in every mode.
func TestEnds(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{
		Package: ".", Dir: module(t, "1.25", map[string]string{"a_test.go": various})})
	for _, c := range []struct {
		test    string
		end     native.End
		message string
		stacks  int
		mode    native.Mode // what Auto comes to
		outside bool
	}{
		{"TestFive", native.Passed, "", 0, native.Repeat, false},
		{"TestBegun", native.Passed, "", 0, native.Repeat, false},
		{"TestGlobal", native.Passed, "", 0, native.Repeat, false},
		{"TestKept", native.Passed, "", 0, native.Repeat, false},
		{"TestLarge", native.Passed, "", 0, native.Fork, false},
		{"TestRange", native.Passed, "", 0, native.Repeat, false},
		{"TestOldMap", native.Passed, "", 0, native.Repeat, false},
		{"TestHeader", native.Passed, "", 0, native.Fork, false},
		{"TestDropped", native.Passed, "", 0, native.Fork, false},
		{"TestRace", native.Crashed, "data race", 2, native.Repeat, false},
		{"TestAfterLoad", native.Crashed, "data race", 2, native.Repeat, false},
		{"TestAfterStore", native.Crashed, "data race", 2, native.Repeat, false},
		{"TestAfterAtomics", native.Passed, "", 0, native.Repeat, false},
		{"TestBytes", native.Passed, "", 0, native.Repeat, false},
		{"TestReflect", native.Passed, "", 0, native.Fork, false},
		{"TestHog", native.TooLarge, "memory", 1, native.Fork, false},
		{"TestLeak", native.Leak, "1 goroutine waits", 1, native.Repeat, false},
		{"TestDead", native.Deadlock, "1 goroutine waits", 1, native.Repeat, false},
		{"TestPanic", native.Crashed, "boom", 1, native.Repeat, false},
		{"TestError", native.Crashed, "wrong 7", 1, native.Repeat, false},
		{"TestSkip", native.Skipped, "", 0, native.Repeat, false},
		{"TestExit", native.Exited, "os.Exit(3)", 1, native.Repeat, false},
		{"TestFile", native.Passed, "", 0, native.Repeat, false},
		{"TestWrite", native.Passed, "", 0, native.Repeat, true},
		{"TestProc", native.Passed, "", 0, native.Repeat, true},
		{"TestOpen", native.Passed, "", 0, native.Repeat, false},
		{"TestShare", native.Passed, "", 0, native.Repeat, true},
		{"TestSubtests", native.Crashed, "data race", 2, native.Repeat, false},
		{"TestHelper", native.Passed, "", 0, native.Repeat, false},
		{"TestLoopback", native.Passed, "", 0, native.Repeat, false},
		{"TestPacket", native.Passed, "", 0, native.Repeat, true},
		{"TestDraw", native.Passed, "", 0, native.Repeat, false},
		{"TestEnv", native.Passed, "", 0, native.Fork, false},
		{"TestFlag", native.Passed, "", 0, native.Repeat, false},
		{"TestPid", native.Passed, "", 0, native.Repeat, true},
		{"TestFatal", native.Crashed, "sync: unlock of unlocked mutex", 1, native.Repeat, false},
	} {
		t.Run(c.test, func(t *testing.T) {
			hashes := map[uint64]bool{}
			for _, mode := range []native.Mode{native.Auto, native.Fork, native.Fresh} {
				p, err := b.Start(c.test, mode, native.Limits{Memory: 256 << 20})
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					x, err := p.Run(t.Context(), nil, native.Policy{Kind: native.Random, Seed: 5})
					if err != nil {
						t.Fatal(mode, err)
					}
					if x.End != c.end || c.message == "" && x.Failure != nil {
						t.Fatalf("mode %d: end %d, %+v", mode, x.End, x.Failure)
					}
					if x.Failure != nil && (!strings.Contains(x.Failure.Message, c.message) ||
						len(x.Failure.Stacks) != c.stacks) {
						t.Errorf("mode %d: %+v", mode, x.Failure)
					}
					if c.outside != (x.Outside != nil) {
						t.Errorf("mode %d: outside: %v", mode, x.Outside)
					}
					hashes[x.Hash] = true
				}
				if mode == native.Auto && p.Mode() != c.mode {
					t.Errorf("executions begin in mode %d, not %d", p.Mode(), c.mode)
				}
				p.Close()
			}
			if len(hashes) != 1 {
				t.Errorf("equal choices give %d different executions", len(hashes))
			}
		})
	}
	t.Run("spins", func(t *testing.T) {
		for _, mode := range []native.Mode{native.Auto, native.Repeat, native.Fork} {
			p, err := b.Start("TestSpin", mode, native.Limits{Step: 500 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			for range 2 { // the second process is a new one
				x, err := p.Run(t.Context(), nil, native.Policy{})
				if err != nil || x.End != native.TooLarge {
					t.Errorf("%+v, %v", x, err)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, err := p.Run(ctx, nil, native.Policy{}); !errors.Is(err,
				context.DeadlineExceeded) {
				t.Errorf("cancelled: %v", err)
			}
			cancel()
			if d := time.Since(begun); d > 10*time.Second {
				t.Errorf("took %v", d)
			}
			p.Close()
		}
	})
}

const processes = `package a

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// It is the other process.
func TestHelper(t *testing.T) {
	switch os.Getenv("HELP") {
	case "":
		return
	case "clock":
		begin := time.Now()
		time.Sleep(50 * time.Millisecond)
		d := time.Since(begin)
		now, err := os.CreateTemp("", "")
		if err != nil {
			panic(err)
		}
		os.Remove(now.Name())
		info, err := now.Stat() // by the clock of the system
		if err != nil {
			panic(err)
		}
		fmt.Print(info.ModTime().Sub(begin).Abs() < time.Minute,
			d >= 50*time.Millisecond, d < time.Minute)
	case "answer":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(l.Addr())
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte("hello"))
		c.Close()
	case "preempt":
		done := make(chan bool)
		go func() { close(done) }()
		r, w, _ := os.Pipe()
		go func() { r.Fd(); r.Read([]byte{0}) }() // keeps a thread
		<-done
		w.Close()
	}
	os.Exit(0)
}

func helper(how string) *exec.Cmd {
	c := exec.Command(os.Args[0], "-test.run=TestHelper")
	c.Env = append(os.Environ(), "HELP="+how, "GOMAXPROCS=1")
	return c
}

func TestClock(t *testing.T) {
	if b, err := helper("clock").CombinedOutput(); err != nil || string(b) != "true true true" {
		t.Error(string(b), err)
	}
}

func TestPreempt(t *testing.T) {
	if b, err := helper("preempt").CombinedOutput(); err != nil {
		t.Error(string(b), err)
	}
}

func TestAnswer(t *testing.T) {
	c := helper("answer")
	r, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	addr := ""
	if _, err := fmt.Fscanln(r, &addr); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	go func() { c.Wait(); close(done) }() // others go on meanwhile
	runtime.Gosched()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	var b [5]byte
	if n, err := conn.Read(b[:]); n != 5 {
		t.Error(n, err)
	}
	conn.Close()
	<-done
}

func TestEnviron(t *testing.T) {
	if s := os.Getenv("GOGC") + os.Getenv("GOMAXPROCS"); s != "50" {
		t.Error(s)
	}
}
`

// TestProcesses: a process that a test starts, from its own executable, too, is an ordinary one,
// and the test goes on while it waits for the end of one.
func TestProcesses(t *testing.T) {
	needLong(t)
	t.Setenv("GOGC", "50") // an empty GOMAXPROCS counts as none
	t.Setenv("GOMAXPROCS", "")
	b := build(t, native.BuildOptions{
		Package: ".", Dir: module(t, "1.25", map[string]string{"a_test.go": processes})})
	for _, test := range []string{"TestClock", "TestPreempt", "TestAnswer", "TestEnviron"} {
		p := start(t, b, test, native.Auto)
		for seed := range uint64(4) {
			x, err := p.Run(t.Context(), nil,
				native.Policy{Kind: native.Random, Seed: seed, Quiet: true})
			if err != nil || x.End != native.Passed {
				t.Fatalf("%s: %+v, %v", test, x, err)
			}
			if outside := x.Outside != nil; outside != (test != "TestEnviron") {
				t.Errorf("%s: %v", test, x.Outside)
			}
		}
	}
}

const socketFile = `package a

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func listen(t *testing.T, name string) net.Listener {
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s")
	l := listen(t, name)
	if _, err := os.Stat(name); err != nil {
		t.Error(err)
	}
	l.Close()
	if _, err := os.Stat(name); err == nil {
		t.Error("it is still there")
	}
}

func TestNone(t *testing.T) {
	listen(t, "no/such/directory").Close()
	if _, err := os.Stat("no/such/directory"); err == nil {
		t.Error("it is there")
	}
}
`

// TestSocketFile: who looks for the file of a socket at which a test listens finds it, since the
// socket is real then.
func TestSocketFile(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{
		Package: ".", Dir: module(t, "1.25", map[string]string{"a_test.go": socketFile})})
	for _, test := range []string{"TestFile", "TestNone"} {
		p := start(t, b, test, native.Auto)
		for range 2 {
			x, err := p.Run(t.Context(), nil, native.Policy{})
			if err != nil || x.End != native.Passed {
				t.Fatalf("%s: %+v, %v", test, x, err)
			}
			if outside := x.Outside != nil; outside != (test == "TestFile") {
				t.Errorf("%s: %v", test, x.Outside)
			}
		}
	}
}

const old = `package a

import (
	"testing"
	"time"
)

func TestTimers(t *testing.T) {
	<-time.After(0)
	tick := time.NewTicker(time.Second)
	<-tick.C
	<-tick.C
	tick.Stop()
}
`

// TestEqual: where a stack stands when it has to grow does not matter. It grows when the run-time
// does something for the first time, such as counting in the first execution of a process that
// timers are as before Go 1.23.
func TestEqual(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{
		Package: ".", Dir: module(t, "1.15", map[string]string{"a_test.go": old})})
	hashes := map[uint64]bool{}
	for _, mode := range []native.Mode{native.Auto, native.Repeat, native.Fork, native.Fresh} {
		p := start(t, b, "TestTimers", mode)
		for range 4 {
			x, err := p.Run(t.Context(), nil, native.Policy{})
			if err != nil || x.End != native.Passed {
				t.Fatalf("mode %d: %+v, %v", mode, x, err)
			}
			hashes[x.Hash] = true
		}
	}
	if len(hashes) != 1 {
		t.Errorf("equal choices give %d different executions", len(hashes))
	}
}

const initial = `package a

import (
	"testing"
	"time"
)

var (
	begun  = time.Now()
	called = make(chan bool, 1)
	timer  = time.AfterFunc(time.Second, func() { called <- true })
	after  = time.After(2 * time.Second)
	tick   = time.NewTicker(3 * time.Second)
	once   = time.NewTimer(time.Millisecond)
	waited = <-once.C
	_      = time.AfterFunc(time.Minute, func() { select {} })
)

func TestSince(t *testing.T) {
	if d := time.Since(begun); d < time.Millisecond || d > time.Hour || begun.UTC().Year() != 2026 {
		t.Fatal(d, begun)
	}
}

func TestCalled(t *testing.T) { <-called }

func TestAfter(t *testing.T) {
	if d := (<-after).Sub(begun); d < 2*time.Second {
		t.Fatal(d)
	}
}

func TestTick(t *testing.T) {
	<-tick.C
	tick.Reset(time.Minute)
	<-tick.C
	tick.Stop()
}

func TestAgain(t *testing.T) {
	once.Reset(time.Second)
	<-once.C
}

func TestStop(t *testing.T) {
	if !timer.Stop() {
		<-called // it was late
	} else if timer.Reset(time.Second) {
		t.Fatal("it was stopped")
	}
	select {
	case <-called:
	case <-time.After(time.Hour):
	}
}
`

// TestInitial: timers of initializers go on where they were when the first execution began, and
// each execution begins with them as the first one.
func TestInitial(t *testing.T) {
	needLong(t)
	for _, version := range []string{"1.25", "1.22"} {
		b := build(t, native.BuildOptions{
			Package: ".", Dir: module(t, version, map[string]string{"a_test.go": initial})})
		for _, test := range []string{"TestSince", "TestCalled", "TestAfter", "TestTick",
			"TestAgain", "TestStop"} {
			hashes := map[uint64]uint64{} // by seed
			for _, mode := range []native.Mode{native.Auto, native.Repeat, native.Fork} {
				p := start(t, b, test, mode)
				for seed := range uint64(10) {
					x, err := p.Run(t.Context(), nil,
						native.Policy{Kind: native.Random, Seed: seed})
					if err != nil || x.End != native.Passed {
						t.Fatalf("go %s, %s, mode %d: %+v, %v", version, test, mode, x, err)
					}
					if h, ok := hashes[seed]; ok && h != x.Hash {
						t.Errorf("go %s, %s, mode %d: equal choices give different executions",
							version, test, mode)
					}
					hashes[seed] = x.Hash
				}
			}
		}
	}
}

const groups = `package a

import (
	"sync"
	"testing"
)

var (
	group sync.WaitGroup
	n     int
)

func init() {
	var first sync.WaitGroup
	first.Go(func() { n = 1 })
	first.Wait()
	group.Go(func() { n++ })
}

func TestWaits(t *testing.T) {
	if group.Wait(); n != 2 {
		t.Fatal(n)
	}
}

func TestWaitsNot(t *testing.T) { n++ }
`

// TestInitialGroups: goroutines that initializers start with WaitGroup.Go are those of each
// execution.
func TestInitialGroups(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{
		Package: ".", Dir: module(t, "1.25", map[string]string{"a_test.go": groups})})
	for test, end := range map[string]native.End{"TestWaits": native.Passed,
		"TestWaitsNot": native.Crashed} {
		for _, mode := range []native.Mode{native.Repeat, native.Fork} {
			p := start(t, b, test, mode)
			for seed := range uint64(4) {
				x, err := p.Run(t.Context(), nil,
					native.Policy{Kind: native.Random, Seed: seed})
				if err != nil || x.End != end {
					t.Fatalf("%s, mode %d: %+v, %v", test, mode, x, err)
				}
				if x.Failure != nil && !strings.Contains(x.Failure.Message, "data race") {
					t.Fatal(x.Failure)
				}
			}
		}
	}
}

// TestStripped: a binary without symbols is refused.
func TestStripped(t *testing.T) {
	needLong(t)
	_, err := native.Build(t.Context(), native.BuildOptions{Package: ".",
		Dir: module(t, "1.25", map[string]string{"a_test.go": "package a\n"}),
		Env: []string{"GOFLAGS=-ldflags=-s"}})
	var no *native.Unsupported
	if !errors.As(err, &no) || !strings.Contains(no.Error(), "remove -s") {
		t.Error(err)
	}
}

const garbage = `package a

import (
	"bytes"
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"
)

type node struct {
	next *node
	mu   sync.Mutex
	n    int
	buf  [1 << 12]byte
}

// TestLists: what is reachable stays, and an object at the address of an earlier one has nothing in
// common with it.
func TestLists(t *testing.T) {
	var wg sync.WaitGroup
	c := make(chan *node)
	for id := range 3 {
		wg.Go(func() {
			var list *node
			for i := range 2000 {
				x := &node{n: id}
				x.buf[i] = byte(id)
				if i%500 == 0 {
					x.mu.Lock()
					x.next, list = list, x
					x.mu.Unlock()
				}
			}
			c <- list
		})
	}
	go func() { wg.Wait(); close(c) }()
	for x := range c {
		n := 0
		for y := x; y != nil; y = y.next {
			n++
			if y.n != x.n {
				t.Fatal(y.n, x.n)
			}
		}
		if n != 4 {
			t.Fatal(n)
		}
	}
}

func TestSmall(t *testing.T) {
	m := map[int]string{}
	for i := range 200 {
		m[i] = "value"
	}
	want, _ := json.Marshal(m)
	for range 200 {
		got, err := json.Marshal(m)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatal(err)
		}
		var x map[int]string
		if err := json.Unmarshal(got, &x); err != nil || len(x) != len(m) {
			t.Fatal(err)
		}
	}
}

func waste() {
	for range 12 {
		_ = append([]byte(nil), make([]byte, 1<<20)...)
	}
}

func TestUnseen(t *testing.T) {
	var mu sync.Mutex
	gone := false
	func() {
		runtime.SetFinalizer(&node{}, func(*node) { gone = true })
		runtime.AddCleanup(&node{}, func(int) { gone = true }, 1)
	}()
	p := weak.Make(&node{n: 7})
	late := make(chan int, 1)
	time.AfterFunc(time.Hour, func() { late <- 7 })
	pool := sync.Pool{}
	pool.Put(&node{n: 7})
	waste()
	mu.Lock()
	mu.Unlock()
	waste()
	if gone || p.Value() == nil || p.Value().n != 7 || <-late != 7 || pool.Get() == nil {
		t.Fatal("the collector was seen")
	}
}

func TestStillRaces(t *testing.T) {
	waste()
	x, done := new(int), make(chan bool)
	go func() {
		waste()
		*x++
		close(done)
	}()
	waste()
	*x++
	<-done
}
`

// TestCollects: executions in which much more is allocated than they may keep.
func TestCollects(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{
		Package: ".", Dir: module(t, "1.25", map[string]string{"a_test.go": garbage})})
	for _, c := range []struct {
		test, message string
		end           native.End
	}{
		{"TestLists", "", native.Passed},
		{"TestSmall", "", native.Passed},
		{"TestUnseen", "", native.Passed},
		{"TestStillRaces", "data race", native.Crashed},
	} {
		t.Run(c.test, func(t *testing.T) {
			hashes := map[uint64]bool{}
			for _, mode := range []native.Mode{native.Auto, native.Fork, native.Fresh} {
				p, err := b.Start(c.test, mode, native.Limits{Memory: 160 << 20,
					Step: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				for seed := range uint64(4) {
					x, err := p.Run(t.Context(), nil, native.Policy{Kind: native.Random,
						Seed: seed / 2})
					if err != nil {
						t.Fatal(mode, err)
					}
					if x.End != c.end || x.Failure != nil &&
						!strings.Contains(x.Failure.Message, c.message) {
						t.Fatalf("mode %d: end %d, %+v", mode, x.End, x.Failure)
					}
					hashes[x.Hash] = true
				}
				p.Close()
			}
			if len(hashes) > 2 {
				t.Errorf("equal choices of two kinds give %d different executions", len(hashes))
			}
		})
	}
}

// BenchmarkFive is executions of five goroutines around a mutex and a channel.
func BenchmarkFive(b *testing.B) {
	needLong(b)
	bin := build(b, native.BuildOptions{Package: ".",
		Dir: module(b, "1.26", map[string]string{"a_test.go": various})})
	for _, c := range []struct {
		name  string
		mode  native.Mode
		brief bool
	}{{"repeat", native.Repeat, false}, {"repeat-brief", native.Repeat, true},
		{"fork", native.Fork, false}} {
		b.Run(c.name, func(b *testing.B) {
			p, err := bin.Start("TestFive", c.mode, native.Limits{})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			seed := uint64(0)
			for b.Loop() {
				seed++
				if x, err := p.Run(b.Context(), nil, native.Policy{Kind: native.Random, Seed: seed,
					Brief: c.brief}); err != nil || x.End != native.Passed {
					b.Fatal(x, err)
				}
			}
		})
	}
}
