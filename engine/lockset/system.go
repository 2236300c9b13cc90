package lockset

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"cpor/system"
)

// Options say what is checked.
type Options struct {
	Rule Rule
	// InitThread names, for some variables, the thread that initializes them:
	// its first access to each location of the variable must be the first of
	// all, and is exempt from the discipline. Keys are names of variables or of
	// single locations (A or A[3]), values are names of threads that exist in
	// the initial state (Main[0]).
	InitThread map[string]string
	// Merge, with LDPrime, keeps the histories of the accesses to these
	// locations out of the state, and merges those of all executions instead;
	// see Run. Nil merges none. It must not change.
	Merge func(l system.Loc) bool
	// Suspect, if not nil, is called when a merged history first breaks the
	// rule, by whichever goroutine steps a machine then. That is not a violation
	// yet: the accesses may belong to different executions.
	Suspect func(l system.Loc)
	// Dependences, with LD and LDPrime, makes transitions dependent whose
	// order makes a difference to the rule, by what the machines say that a
	// step accesses: a search that does not store states needs it, because it
	// executes one order of independent transitions only. HB does without.
	Dependences bool
}

// System behaves as the system that it wraps, and reports where its threads break a rule. It
// offers nearly all that the system offers beyond the core ([System.Capabilities]).
type System struct {
	inner       system.System
	obs         system.Observers
	rule        Rule
	table       *Table
	class       []system.Class
	slot        []int32 // by location: its index in the state, untracked or inMerged
	slots       []system.Loc
	init        []int // by slot: the initThread or noInitThread
	words       int   // of the encoded state
	guards      bool
	dependences bool
	histories   *histories // with HB
	initial     []system.State
	merged      []atomic.Uint32 // by location: the merged history
	suspect     func(l system.Loc)
}

// New wraps sys. The error says that the system does not know about locks, or
// what is wrong with the options.
func New(sys system.System, o Options) (*System, error) {
	m := sys.NewMachine()
	can := m.Capabilities()
	inner := can.Locking
	if inner == nil {
		return nil, fmt.Errorf("races cannot be checked here: the system does not report which " +
			"locations its locks protect")
	}
	if inner.NumClassified() < 0 {
		// What is known of a location would have to follow its object.
		return nil, fmt.Errorf("races cannot be checked here: the system's locations come and go")
	}
	s := &System{inner: sys, obs: system.ObserversOf(sys), rule: o.Rule, table: NewTable(),
		suspect: o.Suspect, dependences: o.Dependences}
	s.guards = inner.HasGuards()
	if s.rule == HB {
		if can.Synchronising == nil {
			return nil, fmt.Errorf("-races hb cannot be checked here: the system does not report " +
				"how its transitions synchronize")
		}
		s.histories = newHistories()
	}
	s.merged = make([]atomic.Uint32, inner.NumClassified())
	for l := range system.Loc(inner.NumClassified()) {
		c := inner.Class(l)
		s.class = append(s.class, c)
		switch {
		case !c.Data() || s.rule == None:
			s.slot = append(s.slot, untracked)
			continue
		case s.rule == LDPrime && o.Merge != nil && o.Merge(l) && !named(m.LocName(l),
			o.InitThread):
			s.slot = append(s.slot, inMerged)
			continue
		}
		s.slot = append(s.slot, int32(len(s.slots)))
		s.slots = append(s.slots, l)
		s.init = append(s.init, noInitThread)
	}
	if s.rule != None {
		s.words = (len(s.slots) + 1) / 2
	}
	if s.rule == HB {
		s.words++ // which threads have ended
	}
	if err := s.initThreads(o.InitThread); err != nil {
		return nil, err
	}
	first := s.newMachine()
	for _, st := range sys.Initial() {
		first.inner.Load(st)
		first.words = append(first.words[:0], make([]uint64, s.words)...)
		first.pending()
		s.initial = append(s.initial, first.Encode(nil))
	}
	return s, nil
}

// Values in System.slot of locations that have no slot.
const (
	untracked = -1
	inMerged  = -2
)

// partOf reports whether a location belongs to a variable.
func partOf(loc, variable string) bool {
	rest, ok := strings.CutPrefix(loc, variable)
	return ok && (rest == "" || rest[0] == '[' || rest[0] == '.')
}

// named reports whether a location belongs to one of the variables. What such a location must
// have as its first access depends on the order.
func named(loc string, variables map[string]string) bool {
	for v := range variables {
		if partOf(loc, v) {
			return true
		}
	}
	return false
}

// initThreads resolves the names in Options.InitThread.
func (s *System) initThreads(names map[string]string) error {
	if len(names) == 0 {
		return nil
	}
	if s.rule != LD && s.rule != LDPrime {
		return fmt.Errorf(
			"an initializing thread matters only for the rules ld and ld', not for %s", s.rule)
	}
	m := s.inner.NewMachine()
	var threads []string
	for t := range m.NumThreads() {
		threads = append(threads, m.ThreadName(t))
	}
	for variable, thread := range names {
		t := slices.Index(threads, thread)
		if t < 0 {
			return fmt.Errorf("%s, which should initialize %s, is not a thread of the initial "+
				"state; there are %s", thread, variable, strings.Join(threads, ", "))
		}
		found := false
		for i, l := range s.slots {
			name := m.LocName(l)
			if !partOf(name, variable) {
				continue
			}
			found = true
			if s.class[l] == system.Unshared {
				return fmt.Errorf(
					"%s is declared unshared: an initializing thread contradicts that", name)
			}
			s.init[i] = t
		}
		if !found {
			return fmt.Errorf(
				"%s, which %s should initialize, is not a variable that locks protect", variable,
				thread)
		}
	}
	return nil
}

// Rule returns the rule that the system checks.
func (s *System) Rule() Rule { return s.rule }

// Dependences reports whether Options.Dependences was set.
func (s *System) Dependences() bool { return s.dependences }

// Initial implements system.System.
func (s *System) Initial() []system.State { return s.initial }

// Interns implements [system.Interning].
func (s *System) Interns() string { return "the locks that -races remembers" }

// Bare implements [system.Remembering].
func (s *System) Bare(st system.State) system.State { return st[:len(st)-s.words] }

// Ordered implements [system.Remembering].
func (s *System) Ordered() bool { return s.rule != None && !s.dependences }

// NewMachine implements system.System.
func (s *System) NewMachine() system.Machine {
	m := s.newMachine()
	m.Load(s.initial[0])
	return m
}

// lockNames returns the names of the locks of a set, as in "holding m, k".
func (m *Machine) lockNames(set Set) string {
	locks := m.sys.table.Locks(set)
	if len(locks) == 0 {
		return "holding no lock"
	}
	var names []string
	for _, l := range locks {
		names = append(names, m.inner.LocName(l))
	}
	return "holding " + strings.Join(names, ", ")
}
