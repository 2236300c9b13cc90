package gogen

import "math"

// Uneven are tests whose threads have different numbers of steps, so that an even choice among
// those who can run draws some orders far more often than others. The orders of the loads of the
// word: ten in TestObject, six in TestBlocked, and in TestAll, where they are all steps, what
// [Extensions] counts.
const Uneven = `package m

import (
	"sync"
	"sync/atomic"
	"testing"
)

func times(n int, f func()) {
	for range n {
		f()
	}
}

// The word is loaded in ten orders: one goroutine loads it before it starts one that loads it
// twice, beside another one that does so.
func TestObject(t *testing.T) {
	var word, other atomic.Int32
	var mu sync.Mutex
	var wg sync.WaitGroup
	load := func() { word.Load() }
	wg.Go(func() {
		times(3, func() { other.Add(1) })
		load()
		wg.Go(func() {
			mu.Lock()
			mu.Unlock()
			times(2, load)
		})
	})
	wg.Go(func() {
		mu.Lock()
		other.Load()
		mu.Unlock()
		times(2, load)
	})
	wg.Wait()
}

// Nobody waits for anybody.
func TestAll(t *testing.T) {
	var word atomic.Int32
	go word.Load()
	go func() {
		go word.Load()
		word.Load()
	}()
}

// The word is loaded under a lock, so that whose turn it is is often blocked.
func TestBlocked(t *testing.T) {
	var word atomic.Int32
	var mu sync.Mutex
	for range 2 {
		go times(2, func() {
			mu.Lock()
			word.Load()
			mu.Unlock()
		})
	}
}

// One spins until another one moves, which may be held.
func TestSpins(t *testing.T) {
	var word, flag atomic.Int32
	go func() {
		word.Load()
		flag.Store(1)
	}()
	for flag.Load() == 0 {
	}
	word.Load()
}
`

// ChiSquared returns the chi-squared statistic of how often each of so many equally likely orders
// was seen, and a bound for it: its mean and six standard deviations.
func ChiSquared(seen map[string]int, orders int) (chi, bound float64) {
	runs := 0
	for _, n := range seen {
		runs += n
	}
	mean := float64(runs) / float64(orders)
	for _, n := range seen {
		chi += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	free := float64(orders - 1)
	return chi + float64(orders-len(seen))*mean, free + 6*math.Sqrt(2*free)
}

// Extensions returns how many orders steps have of which each comes after the one that led to it,
// before[i] for step i (-1: none): n! by the product of how many steps each one leads to (Knuth,
// The Art of Computer Programming 3, section 5.1.4, exercise 20).
func Extensions(before []int) int {
	size := make([]int, len(before))
	n := 1.0
	for i := len(size) - 1; i >= 0; i-- {
		size[i]++
		n *= float64(i+1) / float64(size[i])
		if before[i] >= 0 {
			size[before[i]] += size[i]
		}
	}
	return int(math.Round(n))
}
