package gosrc

import (
	"testing"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc/machine"
	"cpor/testkit/sample"
	"cpor/testkit/systemtest"
)

// programs have all that synchronizes, with values of all kinds in the heap.
const programs = `package m

import (
	"context"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type node struct {
	next *node
	val  any
	tags map[string][]int
}

func TestLocks(t *testing.T) {
	var mu sync.Mutex
	var rw sync.RWMutex
	var list *node
	var wg sync.WaitGroup
	for i := 0; i < 2; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			mu.Lock()
			list = &node{list, i, map[string][]int{"a": {i}}}
			mu.Unlock()
			rw.RLock()
			_ = list
			rw.RUnlock()
		}(i)
	}
	rw.Lock()
	rw.Unlock()
	wg.Wait()
}

func TestChannels(t *testing.T) {
	c := make(chan int)
	d := make(chan *node, 2)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range d {
			select {
			case c <- n.val.(int):
			default:
			}
		}
	}()
	go func() {
		one := &node{val: 1} // a name that does not depend on how many there are
		d <- one
		two := &node{val: 2}
		d <- two
		close(d)
	}()
	select {
	case x := <-c:
		_ = x
	case <-done:
	}
	for {
		select {
		case <-c:
			continue
		case <-done:
		}
		break
	}
}

func TestMisc(t *testing.T) {
	var once sync.Once
	var n atomic.Int32
	var p atomic.Pointer[node]
	c := sync.NewCond(&sync.Mutex{})
	ready := false
	for range 2 {
		go func() {
			once.Do(func() { p.Store(&node{val: "x"}) })
			n.Add(1)
			c.L.Lock()
			ready = true
			c.L.Unlock()
			c.Broadcast()
		}()
	}
	c.L.Lock()
	for !ready {
		c.Wait()
	}
	c.L.Unlock()
}

func TestTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	tm := time.NewTimer(2 * time.Second)
	go func() {
		time.Sleep(time.Second)
		tm.Stop()
	}()
	select {
	case <-ctx.Done():
	case <-tm.C:
	}
}

func TestRecover(t *testing.T) {
	var mu sync.Mutex
	f := func(n int) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = r.(error)
			}
		}()
		mu.Lock()
		defer mu.Unlock()
		_ = 1 / n
		return nil
	}
	go f(0)
	f(1)
}

func TestNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Write([]byte("ab"))
		c.Close()
	}()
	go l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return
	}
	c.SetReadDeadline(time.Now().Add(time.Second))
	b := make([]byte, 1)
	go c.Write(make([]byte, 3))
	for err == nil {
		_, err = c.Read(b)
	}
	c.Close()
}

var (
	locks = map[string]*sync.Mutex{"a": {}}
	all   = struct {
		sync.Mutex
		nodes map[int]*node
		list  []any
	}{nodes: map[int]*node{}}
)

func TestGlobals(t *testing.T) {
	for i := range 2 {
		go func() {
			all.Lock()
			mu := locks["b"]
			if mu == nil {
				mu = &sync.Mutex{}
				locks["b"] = mu
			}
			all.nodes[i] = &node{next: all.nodes[1-i]}
			all.list = append(all.list, all.nodes)
			all.Unlock()
			mu.Lock()
			defer mu.Unlock()
			all.Lock()
			delete(all.nodes, i)
			all.Unlock()
		}()
	}
	locks["a"].Lock()
}

func TestPanics(t *testing.T) {
	c := make(chan any)
	go func() {
		defer func() { c <- recover() }()
		defer func() {
			defer func() { recover() }()
			var m map[string]int
			m["a"] = 1
		}()
		panic(&node{})
	}()
	m := map[any]int{1: 2, "a": 3}
	for k := range m {
		delete(m, k)
		if x := <-c; x == nil {
			t.Fatal("nothing")
		}
		break
	}
}

func TestReflect(t *testing.T) {
	c, d := make(chan node), make(chan *node, 1)
	v := reflect.ValueOf
	send := func(n node) {
		v(c).Send(v(n))
		v(d).TrySend(v(n).Field(0))
	}
	for i := range 2 {
		go send(node{next: &node{}, val: i})
	}
	for range 3 {
		i, x, ok := reflect.Select([]reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: v(c)}, {Dir: reflect.SelectRecv, Chan: v(d)}})
		if i == 0 && x.Field(1).Interface() == any(0) || !ok {
			break
		}
	}
}
`

func compiled(t *testing.T, text string) *Compiled {
	t.Helper()
	dir := write(t, map[string]string{"go.mod": "module m\n\ngo 1.24\n", "a_test.go": text})
	pkgs, err := Load(t.Context(), []string{"."}, Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Garbage is collected as often as can be.
func TestConform(t *testing.T) {
	defer machine.CollectAfter(machine.CollectAfter(1))
	c := compiled(t, programs)
	for _, name := range []string{"TestLocks", "TestChannels", "TestMisc", "TestTime",
		"TestGlobals", "TestPanics", "TestRecover", "TestReflect", "TestNetwork"} {
		t.Run(name, func(t *testing.T) {
			for _, e := range []Explore{{NoRaces: true}, {Stored: true},
				{NoRaces: true, Granularity: MemoryAccesses}} {
				p, err := c.Test(name, e)
				if err != nil {
					t.Fatal(err)
				}
				o := systemtest.Options{MaxStates: sample.Of[uint64](40, 40, 300),
					Walks: sample.Of(3, 3, 10)}
				if testing.Short() {
					o.Steps = 25
				}
				systemtest.Conform(t, p.System, o)
				if u := p.Unsupported(); u != nil {
					t.Error(u)
				}
			}
		})
	}
}

// TestExecutions holds the number of executions of small programs to that of their
// Mazurkiewicz traces, found by reasoning.
func TestExecutions(t *testing.T) {
	c := compiled(t, `package m

import (
	"sync"
	"testing"
)

func TestMutex(t *testing.T) { // 3! orders of the lock; Add and Done do not count
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.Lock()
			defer mu.Unlock()
		}()
	}
	wg.Wait()
}

func TestReaders(t *testing.T) { // readers do not depend on each other
	var mu sync.RWMutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			mu.RLock()
			defer mu.RUnlock()
		})
	}
	wg.Wait()
}

func TestPipe(t *testing.T) { // meetings of two are in one order
	c := make(chan int)
	go func() {
		for i := range 5 {
			c <- i
		}
		close(c)
	}()
	for range c {
	}
}

func TestSenders(t *testing.T) { // 2! orders
	c := make(chan int, 2)
	for i := range 2 {
		go func() { c <- i }()
	}
	<-c
	<-c
}
`)
	for name, want := range map[string]uint64{"TestMutex": 6, "TestReaders": 1, "TestPipe": 1,
		"TestSenders": 2} {
		p, err := c.Test(name, Explore{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := stateless.Run(t.Context(), p.System, stateless.Options{
			Reduction: stateless.DPOR})
		if err != nil || res.Verdict != engine.Pass || res.Executions != want ||
			res.BlockedExecutions != 0 {
			t.Errorf("%s: %+v, %v; want %d executions", name, res, err, want)
		}
	}
}

// TestConformMain is TestConform for programs that end with main, by a panic or by
// os.Exit.
func TestConformMain(t *testing.T) {
	for name, body := range map[string]string{
		"ends":  `go func() { c <- 1 }(); c <- 2`,
		"exits": `go func() { os.Exit(<-c) }(); c <- 3`,
		"polls": `go func() { select { case <-d: default: panic("no") } }(); d <- 1`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{"go.mod": "module m\n\ngo 1.24\n",
				"main.go": "package main\nimport \"os\"\nvar c, d = make(chan int, 1), make(chan " +
					"int)\nfunc main() {\n" + body + "\n}\nvar _ = os.Exit\n"})
			pkgs, err := Load(t.Context(), []string{"."}, Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			c, err := pkgs[0].Compile()
			if err != nil {
				t.Fatal(err)
			}
			p, err := c.Main(Explore{NoRaces: true, Outcomes: true})
			if err != nil {
				t.Fatal(err)
			}
			systemtest.Conform(t, p.System, systemtest.Options{MaxStates: 100, Walks: 5})
		})
	}
}
