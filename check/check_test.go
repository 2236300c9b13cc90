package check_test

import (
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"cpor/check"
)

// count adds in two goroutines; without the lock they race.
func count(t *testing.T, lock bool) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := 0
	for range 2 {
		wg.Go(func() {
			if lock {
				mu.Lock()
				defer mu.Unlock()
			}
			n++
		})
	}
	wg.Wait()
	if n != 2 {
		t.Errorf("n = %d", n)
	}
}

func TestLocked(t *testing.T) {
	check.Every(t, func(t *testing.T) { count(t, true) })
}

func TestIdle(t *testing.T) {
	check.Config{TimeIdle: true, Timeout: time.Minute}.Every(t, func(t *testing.T) {
		done := make(chan bool)
		go func() { close(done) }()
		select {
		case <-done:
		case <-time.After(time.Millisecond):
			t.Fatal("time has passed")
		}
	})
}

// onPurpose skips a test that fails on purpose, unless it is explored, where the
// environment is empty, or TestFailures has started it.
func onPurpose(t *testing.T) {
	if len(os.Environ()) > 0 && os.Getenv("CHECK_FAILS") == "" {
		t.Skip("fails on purpose")
	}
}

func TestRacy(t *testing.T) {
	onPurpose(t)
	check.Every(t, func(t *testing.T) { count(t, false) })
}

func TestProcesses(t *testing.T) {
	onPurpose(t)
	check.Every(t, func(t *testing.T) {
		if err := exec.Command("true").Run(); err != nil {
			t.Error(err)
		}
	})
}

// TestFailures starts the tests that fail on purpose and looks at what they say.
func TestFailures(t *testing.T) {
	if testing.Short() {
		t.Skip("explores three tests in a process of its own")
	}
	c := exec.Command(os.Args[0], "-test.run=^(TestRacy|TestProcesses|TestSpinning)$", "-test.v")
	c.Env = append(os.Environ(), "CHECK_FAILS=1")
	out, err := c.CombinedOutput()
	if err == nil {
		t.Errorf("no test has failed")
	}
	for _, want := range []string{
		`--- FAIL: TestRacy`, `check_test.go:\d+:\d+: data race on n: `, `begins count.func1`,
		`--- FAIL: TestProcesses`,
		`--- FAIL: TestSpinning`, `not obstruction-free: Wait\(\) at .* makes steps forever`,
		`calls exec.Command: programs that start others cannot be explored`,
	} {
		if !regexp.MustCompile(want).Match(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
