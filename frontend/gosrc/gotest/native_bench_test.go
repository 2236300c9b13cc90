//go:build linux

package gotest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc/native"
	"cpor/frontend/gosrc/native/replay"
	"cpor/system"
	"cpor/testkit/sample"
)

// cpu returns how many seconds of CPU time this process has taken, and its children that have
// ended.
func cpu(b *testing.B) (seconds float64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		seconds += float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	}
	return seconds
}

// BenchmarkNativeFive covers five goroutines around a mutex and a channel natively, by dynamic
// reduction. It reports the executions in a second of CPU time, that of the test process included.
func BenchmarkNativeFive(b *testing.B) { coverNatively(b, five, "TestFive", native.Repeat) }

// BenchmarkNativeShort covers executions of 17 steps.
func BenchmarkNativeShort(b *testing.B) { coverNatively(b, short, "TestShort", native.Repeat) }

// BenchmarkNativeFork covers executions of 17 steps, each in a child of its own.
func BenchmarkNativeFork(b *testing.B) { coverNatively(b, short, "TestShort", native.Fork) }

func coverNatively(b *testing.B, text, test string, mode native.Mode) {
	if !sample.Long() {
		b.Skip("compiles Go's library once: -long")
	}
	dir := b.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n",
		"a_test.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	bin, err := native.Build(b.Context(), native.BuildOptions{Dir: dir, Package: "."})
	if err != nil {
		b.Fatal(err)
	}
	defer bin.Close()
	var executions, runs uint64
	begin := cpu(b)
	for b.Loop() {
		sys, err := replay.New(b.Context(), func() (native.Process, error) {
			return bin.Start(test, mode, native.Limits{})
		}, bin, replay.Options{})
		if err != nil {
			b.Fatal(err)
		}
		res, err := stateless.Run(
			b.Context(),
			sys,
			stateless.Options{Options: engine.Options{Workers: 1},
				Reduction: stateless.DPOR, Executed: func(m system.Machine) {
					m.(*replay.Machine).Verify()
				}},
		)
		if err != nil || res.Verdict != engine.Pass {
			b.Fatal(res, err)
		}
		executions += res.Executions
		runs += sys.Counts().Runs
		if err := sys.Close(); err != nil {
			b.Fatal(err)
		}
	}
	seconds := cpu(b) - begin
	b.ReportMetric(float64(executions)/seconds, "executions/cpu-s")
	b.ReportMetric(float64(runs)/seconds, "runs/cpu-s")
	b.ReportMetric(float64(executions)/float64(b.N), "executions")
}
