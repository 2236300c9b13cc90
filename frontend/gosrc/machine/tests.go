package machine

import (
	"sync"
	"sync/atomic"
)

// TestRun is a test or subtest that ran in some execution.
type TestRun struct {
	Name string
	// Ended and Skipped say whether it ended in some execution, and whether it was skipped in
	// one.
	Ended, Skipped bool
	// Why is the test's message when it was skipped.
	Why string
}

// tests are those that ran, in the order in which they were seen first.
type tests struct {
	parallel atomic.Bool // the test has called t.Parallel

	mu      sync.RWMutex
	runs    []*TestRun
	byName  map[string]*TestRun
	threads map[int32]string // the name of the subtest that a goroutine was seen to run last
}

// at calls f for the test of a name; f reports whether there is nothing to change.
func (t *tests) at(name string, known func(r *TestRun) bool, change func(r *TestRun)) {
	t.mu.RLock()
	r := t.byName[name]
	done := r != nil && known(r)
	t.mu.RUnlock()
	if done {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if r = t.byName[name]; r == nil {
		r = &TestRun{Name: name}
		if t.byName == nil {
			t.byName, t.threads = map[string]*TestRun{}, map[int32]string{}
		}
		t.byName[name] = r
		t.runs = append(t.runs, r)
	}
	change(r)
}

// began records that a goroutine runs a test.
func (t *tests) began(name string, thread int32) {
	t.at(name, func(*TestRun) bool { return t.threads[thread] == name }, func(*TestRun) {
		t.threads[thread] = name
	})
}

func (t *tests) ended(name string) {
	t.at(name, func(r *TestRun) bool { return r.Ended }, func(r *TestRun) { r.Ended = true })
}

func (t *tests) skipped(name, why string) {
	t.at(name, func(r *TestRun) bool { return r.Skipped }, func(r *TestRun) {
		r.Skipped, r.Why = true, why
	})
}

// of returns the name of the subtest that a goroutine runs; empty if it runs none.
func (t *tests) of(thread int32) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.threads[thread]
}

// Tests returns the test and its subtests, as far as they were run, in the order in which they
// began.
func (s *System) Tests() []TestRun {
	s.tests.mu.RLock()
	defer s.tests.mu.RUnlock()
	var out []TestRun
	for _, r := range s.tests.runs {
		out = append(out, *r)
	}
	return out
}

// Parallel reports whether the test has called t.Parallel.
func (s *System) Parallel() bool { return s.tests.parallel.Load() }
