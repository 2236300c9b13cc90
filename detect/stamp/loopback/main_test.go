package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"cpor/conform"
	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/detect/predicate"
	"cpor/frontend"
	_ "cpor/frontend/model"
)

// TestMain makes the test binary stand in for the program, whose processes it is.
func TestMain(m *testing.M) {
	if os.Getenv("LOOPBACK") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestLoopback: that two workers can be in their critical sections at once is in the logs of
// each broken run, whatever the timing was, and in no other. The model, too, refuses the broken
// runs and accepts the others.
func TestLoopback(t *testing.T) {
	for _, flags := range [][]string{{}, {"-broken"}, {"-weak"}, {"-weak", "-broken"}} {
		run := record(t, flags)
		broken := slices.Contains(flags, "-broken")
		p, err := predicate.Parse("a.crit && b.crit")
		if err != nil {
			t.Fatal(err)
		}
		n, err := p.Expand(predicate.NamesOf(run))
		if err != nil {
			t.Fatal(err)
		}
		res, err := detect.Detect(t.Context(), run, n, detect.Poss, detect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if res.Holds != broken {
			t.Errorf("%v: two at once are possible: %v", flags, res.Holds)
		}
		if !slices.Contains(flags, "-weak") { // then the logs have no messages
			compare(t, run, broken)
		}
	}
}

// record runs the program and reads its logs.
func record(t *testing.T, flags []string) *computation.Computation {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := exec.Command(self, append(flags, "-dir", dir)...)
	c.Env = append(os.Environ(), "LOOPBACK=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", flags, err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v: the logs are %v, %v", flags, files, err)
	}
	es, err := logs.ReadFiles(files, nil, logs.Options{})
	if err != nil || len(es) != 1 {
		t.Fatalf("%v: %d executions, %v", flags, len(es), err)
	}
	return es[0].Computation
}

// compare checks a run against the model. A broken one must be refused where a worker releases the
// lock in its critical section.
func compare(t *testing.T, run *computation.Computation, broken bool) {
	t.Helper()
	m, err := frontend.Load("lock.model", frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("lock.model")
	if err != nil {
		t.Fatal(err)
	}
	mapping, err := conform.ParseMapping("lock.model", string(source))
	if err != nil {
		t.Fatal(err)
	}
	res, err := conform.Check(t.Context(), m.System, run, mapping, conform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[bool]conform.Verdict{false: conform.Accepted, true: conform.Rejected}[broken]
	if res.Verdict != want {
		t.Fatalf("broken %v: %v after %d of %d events", broken, res.Verdict, res.Followed,
			res.Events)
	}
	if broken && !slices.ContainsFunc(res.Next, func(x conform.Expected) bool {
		host := run.Name(x.Event.Process)
		return run.Text(x.Event.Process, x.Event.Index) == "request POST /unlock" &&
			slices.ContainsFunc(res.Offers, func(o conform.Offer) bool {
				return o.Host == host && o.Does == `print "crit false"` &&
					o.Why == "the log of "+host+` has "request POST /unlock"`
			})
	}) {
		t.Errorf("the place is not named: %+v", res)
	}
}
