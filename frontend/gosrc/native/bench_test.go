//go:build linux

package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cpor/frontend/gosrc/native"
)

// computing are tests that compute, with one goroutine and with two.
const computing = `package a

import (
	"encoding/json"
	"hash/crc32"
	"hash/fnv"
	"slices"
	"sync"
	"testing"
)

type item struct {
	Name  string
	Count int
	Rate  float64
	Inner map[string]int
}

func doJSON(n int) {
	in := make([]item, 20)
	for i := range in {
		in[i] = item{"name", i, 1 / float64(i+1), map[string]int{"k": i}}
	}
	for range n {
		b, err := json.Marshal(in)
		if err != nil {
			panic(err)
		}
		var out []item
		if err := json.Unmarshal(b, &out); err != nil {
			panic(err)
		}
	}
}

func doHash(n int) {
	b := make([]byte, 1<<12)
	for i := range 10 * n {
		for k := range b {
			b[k] = byte(i + k)
		}
		fnv.New64a().Write(b)
		crc32.NewIEEE().Write(b)
	}
}

func doSort(n int) {
	a := make([]int, 1000)
	for i := range n {
		x := uint32(i)
		for k := range a {
			x = x*1664525 + 1013904223
			a[k] = int(x >> 8)
		}
		slices.Sort(a)
	}
}

type node struct{ l, r *node }

func tree(d int) *node {
	if d == 0 {
		return &node{}
	}
	return &node{tree(d - 1), tree(d - 1)}
}

func doTree(n int) {
	for range n {
		tree(10)
	}
}

func both(f func(int)) {
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { f(500) })
	}
	wg.Wait()
}

func TestJSON(*testing.T) { doJSON(1000) }
func TestHash(*testing.T) { doHash(1000) }
func TestSort(*testing.T) { doSort(1000) }
func TestTree(*testing.T) { doTree(1000) }

func TestJSONTwice(*testing.T) { both(doJSON) }
func TestHashTwice(*testing.T) { both(doHash) }
func TestSortTwice(*testing.T) { both(doSort) }
func TestTreeTwice(*testing.T) { both(doTree) }
`

// BenchmarkComputing reports how many times the processor time of plain Go an execution takes, that
// of its process included.
func BenchmarkComputing(b *testing.B) {
	needLong(b)
	dir := module(b, "1.25", map[string]string{"a_test.go": computing})
	bin := build(b, native.BuildOptions{Package: ".", Dir: dir})
	plain := filepath.Join(dir, "plain")
	c := exec.Command("go", "test", "-c", "-o", plain, ".")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"JSON", "Hash", "Sort", "Tree",
		"JSONTwice", "HashTwice", "SortTwice", "TreeTwice"} {
		b.Run(name, func(b *testing.B) {
			var times [2]float64
			for b.Loop() {
				c := exec.Command(plain, "-test.run", "^Test"+name+"$")
				c.Env = append(os.Environ(), "GOMAXPROCS=1")
				begin := children(b)
				if err := c.Run(); err != nil {
					b.Fatal(err)
				}
				middle := children(b)
				p, err := bin.Start("Test"+name, native.Fresh, native.Limits{Step: time.Minute})
				if err != nil {
					b.Fatal(err)
				}
				if x, err := p.Run(b.Context(), nil, native.Policy{}); err != nil ||
					x.End != native.Passed {
					b.Fatal(x, err)
				}
				p.Close()
				times[0] += middle - begin
				times[1] += children(b) - middle
			}
			b.ReportMetric(times[1]/times[0], "times-plain")
		})
	}
}

// children returns how many seconds of processor time the children of this process have taken that
// have ended.
func children(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
