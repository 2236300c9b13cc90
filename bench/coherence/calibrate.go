package coherence

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Calibrate measures the costs of this machine, which takes a second or two. Other programs make
// a measurement longer, never shorter, so each is repeated and the shortest counts. With a single
// processor, a transfer takes as long as memory.
func Calibrate(ctx context.Context) Costs {
	c := Costs{Memory: memoryTime(ctx), Pause: pauseTime(), Wake: wakeTime(ctx),
		CacheLines: ownCache() / lineSize}
	c.Transfer = c.Memory
	if runtime.NumCPU() > 1 && runtime.GOMAXPROCS(0) > 1 {
		c.Transfer = transferTime(ctx, c.Memory)
	}
	return c
}

// never is longer than every measurement.
const never = time.Duration(1<<63 - 1)

// shortest returns the shortest of many measurements that take at most as long in all.
func shortest(ctx context.Context, atMost time.Duration, measure func() time.Duration,
) time.Duration {
	best := never
	for start := time.Now(); ; {
		best = min(best, measure())
		if ctx.Err() != nil || time.Since(start) > atMost {
			return best
		}
	}
}

// chained are lines that lead from one to the next in an order that a processor cannot foresee.
// They are so far apart that it does not fetch them together.
type chained [][apart / 4]uint32

const apart = 17 * lineSize

// newChain returns a cycle through a number of lines, a power of two.
func newChain(lines int) chained {
	c := make(chained, lines)
	for i := range uint32(lines) {
		// A linear congruential generator of full period.
		c[i][0] = (i*1_664_525 + 1_013_904_223) % uint32(lines)
	}
	return c
}

// follow takes steps from a line.
func (c chained) follow(from uint32, steps int) uint32 {
	for range steps {
		from = c[from][0]
	}
	return from
}

// transferTime reads lines that another processor has just written, one after the other.
// It returns otherwise if the two never ran at the same time.
func transferTime(ctx context.Context, otherwise time.Duration) time.Duration {
	const (
		lines = 256
		// The writer is on another processor if it has answered by then. On the same one it
		// would have had to wait for its share of time.
		together = 100 * time.Microsecond
	)
	chain := newChain(lines)
	var turn atomic.Int32 // 1: the writer's; 0: the reader's; -1: over
	var wg sync.WaitGroup
	wg.Add(1)
	wait := func(want int32) bool {
		for spins := 1; ; spins++ {
			if n := turn.Load(); n == want || n < 0 {
				return n == want
			}
			if spins%100_000 == 0 {
				runtime.Gosched()
			}
		}
	}
	go func() {
		defer wg.Done()
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		pin(1)
		for wait(1) {
			for i := range chain {
				chain[i][1]++
			}
			turn.Store(0)
		}
	}()
	d := never
	wg.Add(1)
	go func() {
		defer wg.Done()
		runtime.LockOSThread()
		pin(0)
		n := uint32(0)
		d = shortest(ctx, time.Second, func() time.Duration {
			asked := time.Now()
			turn.Store(1)
			wait(0)
			start := time.Now()
			n = chain.follow(n, lines)
			if start.Sub(asked) > together {
				return never
			}
			return time.Since(start)
		})
		runtime.KeepAlive(n)
		turn.Store(-1)
	}()
	wg.Wait()
	if d == never {
		return otherwise
	}
	return max(1, d/lines)
}

// memoryTime reads lines of far more memory than a processor's own cache holds.
func memoryTime(ctx context.Context) time.Duration {
	const steps = 256
	chain := newChain(1 << 16)
	n := chain.follow(0, len(chain)) // they have a place in memory now
	d := shortest(ctx, 300*time.Millisecond, func() time.Duration {
		start := time.Now()
		n = chain.follow(n, steps)
		return time.Since(start)
	})
	runtime.KeepAlive(n)
	return max(1, d/steps)
}

func pauseTime() time.Duration {
	const times = 1000
	return shortest(context.Background(), 10*time.Millisecond, func() time.Duration {
		start := time.Now()
		for range times {
			runtime.Gosched()
		}
		return time.Since(start) / times
	})
}

// wakeTime is how long it takes until a goroutine that sleeps runs on another processor.
func wakeTime(ctx context.Context) time.Duration {
	wake := make(chan time.Time, 1)
	var awake atomic.Int64
	go func() {
		for t := range wake {
			awake.Store(int64(max(1, time.Since(t))))
		}
	}()
	defer close(wake)
	return shortest(ctx, 200*time.Millisecond, func() time.Duration {
		time.Sleep(time.Millisecond) // it sleeps by then
		awake.Store(0)
		wake <- time.Now()
		for spins := 1; ; spins++ {
			if d := awake.Load(); d > 0 {
				return time.Duration(d)
			}
			if spins%1_000_000 == 0 {
				runtime.Gosched()
			}
		}
	})
}

// ownCache returns the size of a processor's own cache in bytes: the second level, as Linux
// describes it, or else a common one.
func ownCache() int {
	const common = 1 << 20
	dir := "/sys/devices/system/cpu/cpu0/cache/index2"
	level, err := os.ReadFile(filepath.Join(dir, "level"))
	size, err2 := os.ReadFile(filepath.Join(dir, "size"))
	if err != nil || err2 != nil || strings.TrimSpace(string(level)) != "2" {
		return common
	}
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(string(size)), "K"))
	if err != nil || n <= 0 {
		return common
	}
	return n << 10
}
