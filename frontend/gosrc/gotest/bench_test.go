package gotest

import (
	"os"
	"path/filepath"
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

const five = `package m

import (
	"sync"
	"testing"
)

func TestFive(t *testing.T) {
	var mu sync.Mutex
	c := make(chan int, 5)
	var wg sync.WaitGroup
	n := 0
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
	wg.Wait()
}
`

// load compiles a test file.
func load(t testing.TB, text string) *gosrc.Compiled {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n",
		"a_test.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const short = `package m

import (
	"sync/atomic"
	"testing"
)

func TestShort(t *testing.T) {
	var n atomic.Int64
	for range 4 {
		go func() {
			n.Add(1)
			n.Add(1)
		}()
	}
}
`

// BenchmarkFive covers five goroutines around a mutex and a channel.
func BenchmarkFive(b *testing.B) { cover(b, five, "TestFive") }

// BenchmarkShort covers executions of 17 steps.
func BenchmarkShort(b *testing.B) { cover(b, short, "TestShort") }

func cover(b *testing.B, text, test string) {
	c := load(b, text)
	p, err := c.Test(test, gosrc.Explore{})
	if err != nil {
		b.Fatal(err)
	}
	var executions uint64
	for b.Loop() {
		res, err := Run(b.Context(), p, Options{Engine: DPOR, Workers: 1})
		if err != nil || res.Verdict != engine.Pass {
			b.Fatal(res, err)
		}
		executions = res.Executions
	}
	b.ReportMetric(float64(executions)*float64(b.N)/b.Elapsed().Seconds(), "executions/s")
}
