package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"cpor/detect"
	"cpor/detect/logs"
	"cpor/detect/predicate"
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
// each broken run, whatever the timing was, and in no other.
func TestLoopback(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{}, {"-broken"}, {"-weak"}, {"-weak", "-broken"}} {
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
		run := es[0].Computation
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
		broken := len(flags) > 0 && flags[len(flags)-1] == "-broken"
		if res.Holds != broken {
			t.Errorf("%v: two at once are possible: %v", flags, res.Holds)
		}
	}
}
