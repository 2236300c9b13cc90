package lockset

import (
	"fmt"
	"strings"

	"cpor/system"
)

// Rule chooses what is checked.
type Rule uint8

// The rules; the package documentation defines them.
const (
	None Rule = iota
	LD
	LDPrime
	HB
)

var ruleNames = []string{"none", "ld", "ld'", "hb"}

// String returns the rule's name as it appears on the command line.
func (r Rule) String() string {
	if int(r) < len(ruleNames) {
		return ruleNames[r]
	}
	return "unknown"
}

// ParseRule returns the rule of that name; ldprime is another name of ld', which
// shells like better. The error lists the names.
func ParseRule(s string) (Rule, error) {
	if s == "ldprime" {
		return LDPrime, nil
	}
	for i, n := range ruleNames {
		if n == s {
			return Rule(i), nil
		}
	}
	return None, fmt.Errorf("unknown race check; want %s (or ldprime, which is ld')",
		strings.Join(ruleNames, " or "))
}

// The kinds of violations that the rules report.
const (
	// Discipline is an access that breaks LD or LDPrime, or a declaration
	// that turned out wrong.
	Discipline system.ViolationKind = "locking discipline"
	// Race is a data race by HB.
	Race system.ViolationKind = "data race"
)

// word is what the lockset algorithm knows of a location: a state in the three
// highest bits, and a thread or a set in the others.
type word uint32

// The states. Virgin, exclusive, shared and shared-modified are Eraser's.
const (
	virgin       word = iota << 29
	initialized       // accessed by its initThread, exempt
	exclusiveR        // one thread read it only; the payload is an owner
	exclusiveW        // and wrote it
	sharedR           // read only; the payload is the lockset
	sharedW           // shared-modified
	reported          // violated: nothing more is said about it
	stateMask    word = 7 << 29
	payload      word = 1<<29 - 1
	noInitThread      = -1
)

// access is one access as the rules see it.
type access struct {
	thread int
	loc    system.Loc
	write  bool
	held   Set
}

// problem says which claim an access breaks.
type problem uint8

const (
	fine problem = iota
	unprotected
	notUnshared
	wrongInit
	unordered
)

// next returns the state of a location after an access.
func (c *cache) next(r Rule, class system.Class, init int, w word, a access) (word, problem) {
	state := w & stateMask
	if state == reported {
		return w, fine
	}
	exclusive := func(held Set, write bool) word {
		o := word(c.owner(owner{a.thread, held}))
		if write {
			return exclusiveW | o
		}
		return exclusiveR | o
	}
	if class == system.Unshared {
		switch {
		case state == virgin:
			return exclusive(0, true), fine // reads and writes are the same here
		case c.ownerOf(w).thread == a.thread:
			return w, fine
		}
		return reported, notUnshared
	}
	if state == virgin && init != noInitThread {
		if init != a.thread {
			return reported, wrongInit
		}
		return initialized, fine
	}
	switch {
	case state == virgin || state == initialized:
		if r == LD {
			return exclusive(0, a.write), fine
		}
		return exclusive(a.held, a.write), fine
	case state == exclusiveR || state == exclusiveW:
		o := c.ownerOf(w)
		written := a.write || state == exclusiveW
		switch {
		case o.thread == a.thread:
			return exclusive(c.intersect(o.held, a.held), written), fine
		case r == LD:
			// What the first thread did was initialization.
			return c.shared(a.held, a.write)
		}
		return c.shared(c.intersect(o.held, a.held), written)
	}
	return c.shared(c.intersect(Set(w&payload), a.held), a.write || state == sharedW)
}

// shared returns the state of a location that several threads access.
func (c *cache) shared(have Set, written bool) (word, problem) {
	switch {
	case !written:
		return sharedR | word(have), fine
	case have == 0:
		return reported, unprotected
	}
	return sharedW | word(have), fine
}
