package gotest

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc/native"
	"cpor/frontend/gosrc/native/replay"
	"cpor/frontend/gosrc/native/replay/replaytest"
	"cpor/system"
	"cpor/testkit/sample"
	"cpor/testkit/toysystem"
)

// runToy runs a small system as if it were a test that is compiled.
func runToy(ctx context.Context, sys system.System, o Options) (*Result, error) {
	return RunNative(ctx, Native{Test: "T", Names: replaytest.Numbers{},
		Open: func() (native.Process, error) { return replaytest.New(sys), nil }}, o)
}

// A test that runs natively passes if and only if nothing of what is explored fails, and a
// failure is reported.
func TestNativeVerdicts(t *testing.T) {
	verdicts := map[engine.Verdict]int{}
	for seed := range uint64(150) {
		p := toysystem.Random(rand.New(rand.NewPCG(seed, 28)), toysystem.Config{NoLoops: true})
		sys, err := toysystem.New(p)
		if err != nil {
			t.Fatal(err)
		}
		want, err := stateless.Run(t.Context(), sys, stateless.Options{
			Options: engine.Options{Workers: 1, MaxTransitions: 3000}, Reduction: stateless.DPOR})
		if err != nil {
			t.Fatal(err)
		}
		if want.Verdict == engine.Incomplete {
			continue
		}
		got, err := runToy(t.Context(), sys, Options{Workers: 2, Timeout: 20 * time.Second})
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
		if got.Verdict != want.Verdict || got.Verdict == engine.Pass &&
			got.Executions != want.Executions {
			t.Fatalf("seed %d: %v, %d executions (%s), want %v, %d\n%v", seed, got.Verdict,
				got.Executions, got.Reason, want.Verdict, want.Executions, p)
		}
		verdicts[got.Verdict]++
		if f := got.Failure; (f != nil) != (got.Verdict == engine.Violated) || f != nil &&
			(f.Kind == "" || f.Message == "") {
			t.Fatalf("seed %d: %+v", seed, f)
		} else if f != nil {
			if _, err := f.Trace.Record(got.Native); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	}
	if verdicts[engine.Pass] == 0 || verdicts[engine.Violated] == 0 {
		t.Error(verdicts)
	}
}

// toy makes the system of a program.
func toy(t *testing.T, make func(p *toysystem.Program)) system.System {
	p := toysystem.NewProgram()
	make(p)
	sys, err := toysystem.New(p)
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// odd is a process that changes what the executions tell, or returns an error.
type odd struct {
	native.Process
	f func(x *native.Execution) error
}

func (p *odd) Run(ctx context.Context, prefix []native.Choice, pol native.Policy) (
	*native.Execution, error,
) {
	x, err := p.Process.Run(ctx, prefix, pol)
	if err == nil {
		err = p.f(x)
	}
	return x, err
}

// A failure that does not come again is not a verdict but is shown, and a failure of Go's run-time
// is none of the test.
func TestNativeUncertain(t *testing.T) {
	sys := toy(t, func(p *toysystem.Program) {
		x := p.Scalar("x", 0)
		for _, n := range []string{"a", "b"} {
			p.Thread(n, 0, toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1))))
			p.Start(n)
		}
	})
	run := func(f func(n int32, x *native.Execution) error) (*Result, error) {
		var n atomic.Int32
		return RunNative(t.Context(), Native{Test: "T", Names: replaytest.Numbers{},
			Open: func() (native.Process, error) {
				return &odd{replaytest.New(sys),
					func(x *native.Execution) error { return f(n.Add(1), x) }}, nil
			}}, Options{Workers: 1, Timeout: 20 * time.Second})
	}
	fail := func(x *native.Execution) error {
		x.End, x.Failure = native.Failed, &native.Failure{Kind: "failed", Message: "odd"}
		return nil
	}
	res, err := run(func(n int32, x *native.Execution) error {
		if n == 3 {
			return fail(x)
		}
		return nil
	})
	if err != nil || res.Verdict != engine.Incomplete || res.Failure != nil || res.Once == nil ||
		res.Once.Message != "odd" {
		t.Errorf("once: %+v, %v", res, err)
	}
	res, err = run(func(n int32, x *native.Execution) error {
		if n >= 3 {
			return fail(x)
		}
		return nil
	})
	if err != nil || res.Verdict != engine.Violated || res.Failure == nil ||
		res.Failure.Message != "odd" || res.Once != nil {
		t.Errorf("again: %+v, %v", res, err)
	}
	for _, at := range []int32{1, 3} {
		res, err := run(func(n int32, x *native.Execution) error {
			if n >= at {
				x.End, x.Failure = native.TooLarge, &native.Failure{Kind: "limit", Message: "large"}
				x.Steps[len(x.Steps)-1].Failure = x.Failure
			}
			return nil
		})
		if err != nil || res.Verdict != engine.Incomplete || res.Failure != nil ||
			res.Reason != tooLarge {
			t.Errorf("too large, execution %d: %+v, %v", at, res, err)
		}
	}
	for _, at := range []int32{1, 3} {
		res, err := run(func(n int32, _ *native.Execution) error {
			if n >= at {
				return &native.RuntimeFailed{What: "bad span"}
			}
			return nil
		})
		if needs := new(NeedsInterpreter); !errors.As(err, &needs) ||
			!strings.Contains(needs.Why, "bad span") {
			t.Errorf("execution %d: %+v, %v", at, res, err)
		}
	}
}

// A failure that is seen when the time is over, too late to be repeated, is not a verdict but is
// shown, and is not waited for.
func TestNativeLate(t *testing.T) {
	t.Parallel()
	sys := toy(t, func(p *toysystem.Program) {
		x := p.Scalar("x", 0)
		p.Thread("a", 0, toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1))))
		p.Start("a")
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var n atomic.Int32
	open := func() (native.Process, error) {
		return &odd{replaytest.New(sys), func(x *native.Execution) error {
			switch n.Add(1) {
			case 1:
			case 2:
				x.End, x.Failure = native.Failed, &native.Failure{Kind: "failed", Message: "late"}
				cancel()
			default:
				return context.Canceled // as a process that is killed
			}
			return nil
		}}, nil
	}
	res, err := RunNative(ctx, Native{Test: "T", Names: replaytest.Numbers{}, Open: open},
		Options{Workers: 1, Timeout: 20 * time.Second})
	if err != nil || res.Verdict != engine.Incomplete || res.Failure != nil || !res.Late ||
		res.Once == nil || res.Once.Message != "late" {
		t.Errorf("%+v, %v", res, err)
	}
}

// What is not covered is not a pass, and the result says what was.
func TestNativeLimits(t *testing.T) {
	large := toy(t, func(p *toysystem.Program) {
		x := p.Scalar("x", 0)
		for _, n := range []string{"a", "b", "c", "d", "e"} {
			var code []toysystem.Node
			for range 8 {
				code = append(code, toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1))))
			}
			p.Thread(n, 0, code...)
			p.Start(n)
		}
	})
	res, err := runToy(t.Context(), large, Options{Timeout: time.Second})
	if err != nil || res.Verdict != engine.Incomplete || res.Reason == "" || res.Samples == 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if d := res.Duration; d > 2*time.Second {
		t.Errorf("the time-out of a second took %v", d)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if res, err = runToy(ctx, large, Options{}); err != nil || res.Verdict != engine.Incomplete ||
		res.Reason != "interrupted" {
		t.Errorf("%+v, %v", res, err)
	}
	if s, err := replay.New(t.Context(), func() (native.Process, error) {
		return replaytest.New(large), nil
	}, replaytest.Numbers{}, replay.Options{}); err != nil {
		t.Error(err)
	} else {
		// The time is over before the engine looks at the clock.
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		r := &nativeRun{o: Options{Timeout: time.Second}, res: &Result{}}
		if err := r.dpor(ctx, s.With(replay.View{})); err != nil ||
			r.res.Reason != "time-out after 1s" {
			t.Errorf("%q, %v", r.res.Reason, err)
		}
	}
	endless := toy(t, func(p *toysystem.Program) {
		p.Thread("a", 0, toysystem.Atomic(toysystem.Goto(0)))
		p.Start("a")
	})
	var needs *NeedsInterpreter
	if _, err := runToy(t.Context(), endless, Options{Timeout: 5 * time.Minute}); !errors.As(err,
		&needs) {
		t.Error(err)
	}
	if _, err := runToy(t.Context(), endless, Options{Engine: Full}); !errors.As(err, &needs) {
		t.Error(err)
	}
}

// What the search with a bound on preemptions finds too late is shown as well.
func TestNativeLateBound(t *testing.T) {
	t.Parallel()
	sys := toy(t, func(p *toysystem.Program) {
		x := p.Scalar("x", 0)
		p.Thread("a", 0, toysystem.Lock(x, nil), toysystem.Lock(x, nil))
		p.Start("a")
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	s, err := replay.New(ctx, func() (native.Process, error) {
		return &odd{replaytest.New(sys), func(*native.Execution) error {
			if n++; n > 1 {
				return context.Canceled
			}
			return nil
		}}, nil
	}, replaytest.Numbers{}, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &nativeRun{o: Options{Timeout: time.Second}, start: time.Now(), res: &Result{}, sys: s}
	b := &bounded{ctx: ctx, p: s, broken: func() bool { return false }, m: s.NewMachine()}
	if b.upward(); !b.found {
		t.Fatal("the deadlock is not found")
	}
	if err := r.fail(s, b.failing(), nil); err != nil || !r.res.Late || r.once == nil ||
		r.once.Kind != Deadlock {
		t.Errorf("%+v, %+v, %v", r.res, r.once, err)
	}
}

// A test whose executions do not end while timers go off is explored as far as some do.
func TestNativeTicks(t *testing.T) {
	sample.Skip(t)
	dir := t.TempDir()
	write := writer(t, dir)
	writeModule(t, write)
	write("a/a_test.go", `package a

import (
	"sync/atomic"
	"testing"
	"time"
)

func ticking(f func(n int)) {
	go func() {
		n := 0
		for range time.Tick(time.Second) {
			f(n)
			n++
		}
	}()
}

func TestQuiet(t *testing.T) {
	var n atomic.Int32
	ticking(func(int) { n.Add(1) })
	n.Load()
}

func TestSeldom(t *testing.T) {
	var x atomic.Int32
	ticking(func(int) { x.Store(1); x.Store(0) })
	if x.Load() == 1 {
		panic("between")
	}
}
`)
	b, err := native.Build(t.Context(), native.BuildOptions{Dir: dir, Package: "./a"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for test, want := range map[string]FailureKind{"TestQuiet": "", "TestSeldom": Panic} {
		res, err := RunNative(t.Context(), Native{Test: test, Names: b,
			Open: func() (native.Process, error) {
				return b.Start(test, native.Auto, native.Limits{})
			}}, Options{Workers: 1, Timeout: 5 * time.Second, Share: time.Second})
		if err != nil {
			t.Fatal(test, err)
		}
		defer res.Release()
		switch f := res.Failure; {
		case !res.Ticks:
			t.Errorf("%s: %+v", test, res)
		case want == "":
			if res.Verdict != engine.Incomplete || res.Samples == 0 ||
				!strings.Contains(res.Reason, "timers go off was covered") {
				t.Errorf("%s: %v, %s, %d samples", test, res.Verdict, res.Reason, res.Samples)
			}
		case f == nil || f.Kind != want:
			t.Errorf("%s: %v, %s, %+v", test, res.Verdict, res.Reason, f)
		default:
			if _, err := Record(res.Native, f.Trace, nil); err != nil {
				t.Errorf("%s: %v", test, err)
			}
		}
	}
}
