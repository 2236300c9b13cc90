package replay

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"cpor/frontend/gosrc/native"
)

// TestRun is a test or subtest that ran in some execution.
type TestRun struct {
	Name string
	// Ended and Skipped say whether it ended in some execution, and whether it was skipped in one.
	Ended, Skipped bool
	// Why is its message when it was skipped.
	Why string
}

// tests are those that ran, in the order in which they were seen first.
type tests struct {
	mu       sync.Mutex
	parallel bool
	runs     []TestRun
	at       map[string]int   // of runs, by name
	threads  map[int32]string // the name of the subtest that a thread was seen to run last
}

// note notes what became of the tests of an execution.
func (t *tests) note(es []native.TestEvent) {
	if len(es) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range es {
		if e.Kind == native.TestParallel {
			t.parallel = true
			continue
		}
		i, ok := t.at[e.Name]
		if !ok {
			if t.at == nil {
				t.at, t.threads = map[string]int{}, map[int32]string{}
			}
			i = len(t.runs)
			t.at[e.Name] = i
			t.runs = append(t.runs, TestRun{Name: e.Name})
		}
		if e.Kind == native.TestRuns {
			t.threads[e.Thread] = e.Name
		}
		r := &t.runs[i]
		r.Ended = r.Ended || e.Kind == native.TestEnded
		r.Skipped = r.Skipped || e.Kind == native.TestSkipped
		r.Why = cmp.Or(r.Why, strings.TrimSpace(e.Why))
	}
}

// of returns the name of the test that a thread runs; empty if it runs none.
func (t *tests) of(thread int32) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.threads[thread]
}

// Tests returns the test and its subtests, as far as they ran, and tells whether the test has
// called t.Parallel.
func (s *program) Tests() (runs []TestRun, parallel bool) {
	s.tests.mu.Lock()
	defer s.tests.mu.Unlock()
	return slices.Clone(s.tests.runs), s.tests.parallel
}
