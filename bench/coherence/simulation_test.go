package coherence

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/engine/search/reduction"
	"cpor/frontend"
	_ "cpor/frontend/model"
	"cpor/internal/probe"
	testsample "cpor/testkit/sample"
)

// shared is memory that the workers of a test share, a line each.
var shared [4]struct {
	_ [64]byte
	n int
	_ [64]byte
}

var testCosts = Costs{Transfer: 30, Memory: 20, Pause: 5, Wake: 1000, CacheLines: 1000}

// simulated runs workers in a simulation.
func simulated(segments Segments, workers ...func()) Result {
	sim := NewSimulation(len(workers), testCosts, segments)
	sim.Watch(func() {
		var wg sync.WaitGroup
		for id, work := range workers {
			wg.Go(func() {
				probe.Begin(id)
				defer probe.End(id)
				work()
			})
		}
		wg.Wait()
	})
	return sim.Result()
}

func write(line int) { probe.Write(probe.Table, unsafe.Pointer(&shared[line].n)) }

func TestSimulation(t *testing.T) {
	segments := Segments{{probe.Start, probe.Table, false}: 100,
		{probe.Table, probe.Table, false}: 100, {probe.Table, probe.Table, true}: 100}
	var lock probe.Mutex
	for _, tt := range []struct {
		name    string
		workers []func()
		time    time.Duration
		moving  time.Duration
		waiting time.Duration
	}{
		{"one worker", []func(){func() { write(0); write(0) }}, 200, 0, 0},
		{"lines of their own", []func(){
			func() { write(0); write(0) }, func() { write(1); write(1) },
		}, 200, 0, 0},
		// Worker 0 writes at 100. Worker 1 arrives then, too, and has the line at 130. Worker 0
		// arrives at 200 and has it at 230, when worker 1 arrives, which has it at 260.
		{"one line", []func(){
			func() { write(0); write(0) }, func() { write(0); write(0) },
		}, 260, 90, 0},
		// Worker 0 takes the lock at 0. Worker 1 has its line at 30 and finds it taken. Worker 0
		// arrives at 100 to release it, has the line at 130, and so worker 1 has it at 160.
		{"a lock", []func(){
			func() { lock.Lock(); write(0); write(0); lock.Unlock() },
			func() { lock.Lock(); write(1); write(1); lock.Unlock() },
		}, 260, 90, 100},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := simulated(segments, tt.workers...)
			var moving, waiting time.Duration
			for _, h := range r.Hot {
				moving, waiting = moving+h.Moving, waiting+h.Waiting
			}
			if r.Time != tt.time || moving != tt.moving || waiting != tt.waiting {
				t.Errorf("it takes %d ns, with %d of transfers and %d of waiting; want %d, %d, %d",
					r.Time, moving, waiting, tt.time, tt.moving, tt.waiting)
			}
			if sum := r.Local + r.Moving + r.Waiting + r.Idle; sum < 0.999 || sum > 1.001 {
				t.Errorf("the shares add up to %v", sum)
			}
		})
	}
}

// TestOrder checks that accesses happen in the order of the clocks.
func TestOrder(t *testing.T) {
	segments := Segments{{probe.Start, probe.Table, false}: 100,
		{probe.Start, probe.Node, false}: 10, {probe.Node, probe.Node, false}: 40}
	var order []string
	simulated(segments, func() {
		write(0)
		order = append(order, "slow")
	}, func() {
		for range 4 {
			probe.Read(probe.Node, unsafe.Pointer(&shared[1].n))
			order = append(order, "fast")
		}
	})
	if got := strings.Join(order, " "); got != "fast fast fast slow fast" {
		t.Errorf("the accesses came in the order %s", got)
	}
}

// TestSleep wakes a worker that sleeps, and one that is about to.
func TestSleep(t *testing.T) {
	segments := Segments{{probe.Start, probe.Table, false}: 100,
		{probe.Table, probe.Table, false}: 100}
	r := simulated(segments, func() {
		probe.Park(0)
		write(0)
	}, func() {
		write(1)
		probe.Unpark(0)
		probe.Unpark(1)
		probe.Park(1) // returns at once
	})
	if r.Time != 100+1000+100 {
		t.Errorf("it takes %d ns, want 1200: awake after 1100 and 100 of work", r.Time)
	}
	r = simulated(segments, func() { probe.Park(0) }, func() { write(0); probe.UnparkAll() })
	if r.Time != 100 {
		t.Errorf("it takes %d ns, want 100: the end wakes all at once", r.Time)
	}
}

const grid = `
const N = 5
var x [N]int
thread T(i int) { for k := range 2 { x[i] = k + 1 } }
init { for i := range N { go T(i) } }
`

// search explores the model with an engine.
func search(t *testing.T, e *engine.Entry, workers int) *engine.Result {
	t.Helper()
	o := frontend.Options{}
	if testsample.Long() {
		o.Params = map[string]string{"N": "7"}
	}
	p, err := frontend.Read("grid.model", strings.NewReader(grid), o)
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Run(context.Background(), &engine.Task{System: p.System, Flags: &engine.Values{},
		Options: engine.Options{Workers: workers}})
	if err != nil {
		t.Fatalf("%s, %d workers: %v", e.Name, workers, err)
	}
	return res
}

// TestSearches simulates every search with stored states. Its answers are those of a search without
// an observer, and no worker waits forever.
func TestSearches(t *testing.T) {
	for _, por := range engine.Names(reduction.Mode) {
		e, err := engine.Lookup(reduction.Mode, por)
		if err != nil {
			t.Fatal(err)
		}
		want := search(t, e, 1)
		meter := NewMeter()
		meter.Watch(func() { search(t, e, 1) })
		segments, _ := meter.Segments()
		for _, n := range []int{1, 2, 7, 64} {
			if !testsample.Long() && (n == 2 || n == 64 && por != "none") {
				continue
			}
			sim := NewSimulation(n, testCosts, segments)
			var res *engine.Result
			sim.Watch(func() { res = search(t, e, n) })
			if res.Verdict != want.Verdict {
				t.Errorf("%s, %d workers: %v, want %v", por, n, res.Verdict, want.Verdict)
			}
			if e.Stable&engine.CountStates != 0 && res.States != want.States {
				t.Errorf("%s, %d workers: %d states, want %d", por, n, res.States, want.States)
			}
			r := sim.Result()
			if n == 1 && r.Moving+r.Waiting > 0 {
				t.Errorf("%s: one worker pays for %v of its time", por, r.Moving+r.Waiting)
			}
			if por == "none" && n == 64 && len(r.Hot) == 0 {
				t.Errorf("%s: 64 workers share nothing", por)
			}
		}
	}
}

func TestCalibrate(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // each cost is measured once
	c := Calibrate(ctx)
	if c.Transfer <= 0 || c.Memory <= 0 || c.Pause <= 0 || c.Wake <= 0 || c.CacheLines <= 0 {
		t.Errorf("a cost is missing: %+v", c)
	}
}
