package statestore

import (
	"errors"
	"fmt"
)

// Ref names a stored state. The zero Ref is not a state. A Ref stays valid for the
// life of its store, and a stored state has exactly one Ref.
//
// For a store that is not [Store.Loadable] a Ref is a hash of the state: good
// for recognizing the state again, but the state cannot be recovered from it.
type Ref uint64

// ErrFull is returned by [Session.Insert] when the state is not covered and
// storing it would take the store over Options.MaxBytes. The search has to end
// as incomplete. States that are covered are still found.
var ErrFull = errors.New("statestore: memory limit reached")

// Kind selects how states are stored.
type Kind int

const (
	// Tree is the default: exact storage, compressed by sharing the parts
	// that states have in common (Laarman, van de Pol, Weber, SPIN 2011).
	Tree Kind = iota
	// Plain is exact storage of whole states, the yardstick for Tree.
	Plain
	// Compact stores a hash of each state (hash compaction; Stern and Dill,
	// CHARME 1995): some states may be omitted, with a known probability.
	Compact
	// Bitstate stores a few bits of each state in a Bloom filter of fixed
	// size (Holzmann, FMSD 1998): for what fits in no other way.
	Bitstate
)

var kindNames = [...]string{Tree: "tree", Plain: "plain", Compact: "compact", Bitstate: "bitstate"}

// Inexact reports whether a store of this kind can mistake a new state for a covered one.
func (k Kind) Inexact() bool { return k == Compact || k == Bitstate }

// String returns the kind's name as ParseKind takes it.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

// ParseKind returns the kind of that name: tree, plain, compact or bitstate. The
// error lists the names.
func ParseKind(name string) (Kind, error) {
	for k, s := range kindNames {
		if s == name {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("unknown store %q: want tree, plain, compact or bitstate", name)
}

// Options configures a store.
type Options struct {
	Kind Kind
	// MaxBytes limits what Bytes may reach; 0 means no limit. A Bitstate
	// store takes all of it at once.
	MaxBytes uint64
	// Workers is the number of sessions that will insert at a time; 0 is
	// taken as 1. More may be opened.
	Workers int
	// Samples is the number of states of a length that a Tree store examines before it decides
	// where to cut them; 0 means 2,048. Tests of what happens after that use fewer.
	Samples int
}

// Store is a covered set. Its methods may be called from many goroutines at
// once, while sessions insert.
type Store interface {
	// NewSession returns a session, one for each worker goroutine.
	NewSession() Session

	// Len returns the number of states stored, exact when no Insert runs. A
	// Bitstate store counts the states that were new to it.
	Len() uint64

	// Bytes returns the memory that the store holds, in bytes: tables with their free slots, nodes,
	// parents. It does not count memory that a growing table gave up, even if the garbage collector
	// has not freed it yet, nor the scratch of the sessions, at most 600 KB each.
	Bytes() uint64

	// Exact reports whether the store never takes a new state for a covered
	// one: true for Tree and Plain.
	Exact() bool

	// Loadable reports whether a state can be recovered from its Ref, and
	// whether its parent is known: true for Tree and Plain. For the others the
	// work set has to carry the states themselves and their [Trail].
	Loadable() bool

	// OmissionProbability returns the probability that a given reachable
	// state was taken for covered though it was new; 0 if Exact.
	OmissionProbability() float64

	// Stats returns figures for reports and tuning.
	Stats() Stats
}

// Session is one worker's access to a store. It is not safe for concurrent use.
type Session interface {
	// Insert adds the state s unless it is covered; parent is the state from
	// which s was reached, 0 for an initial state. It returns the state's Ref
	// and whether it was added: of all Inserts of equal states, in all
	// sessions, exactly one gets true. The error is nil or ErrFull. The
	// store keeps nothing of s.
	Insert(s []uint64, parent Ref) (ref Ref, added bool, err error)

	// Find returns the Ref of s if s is covered.
	Find(s []uint64) (ref Ref, ok bool)

	// Load decodes a stored state over dst, whose length does not matter, and
	// returns it, grown if needed. ref must be of this store. The following
	// Inserts are fastest for states that differ little from the one loaded
	// last. If the store is not Loadable, Load returns nil.
	Load(ref Ref, dst []uint64) []uint64

	// Parents calls yield for the candidates for the parent of a stored state until yield returns
	// false. The true parent is among them; an initial state has none. Because there can be others,
	// a candidate must be checked by executing from it. A chain of checked candidates can be a
	// cycle, so rebuilding a trace may need backtracking. Tree yields about one state in 65,536,
	// Plain exactly one. A store that is not Loadable yields none.
	Parents(ref Ref, yield func(Ref) bool)
}

// Deferring is implemented by sessions that begin several insertions before they complete them,
// which gives the memory accesses of each insertion time to finish.
type Deferring interface {
	Session

	// Defer begins Insert of s with its parent. It returns false if the state should be inserted at
	// once instead. changed, if not nil, lists the indices of all words in which s differs from the
	// parent; it may contain others, and duplicates. It helps if the parent was loaded last. The
	// error is nil or ErrFull.
	Defer(s []uint64, parent Ref, changed []int32) (bool, error)

	// Settle completes the insertions that were deferred, in their order, and
	// calls added for the states that were added, which must not use the
	// session. At the first error, ErrFull or one of added's, it returns it and
	// drops the others.
	Settle(added func(Ref) error) error
}

// MaxNumbers is the largest number of parts of a state, see [Numbering].
const MaxNumbers = maxParts

// Numbering is implemented by sessions of a Tree store. A state is taken apart into a few
// parts, the same bits of all states of a length, and the values that a part has taken are
// numbered. So the same numbers are the same values, at all times and for all sessions.
type Numbering interface {
	Deferring
	// Numbers returns the numbers of the parts of the state with that Ref, which was loaded last
	// and is of that length. They are valid until the next call. It returns nil if the
	// state has none: it was among the first ones, or is its own number.
	Numbers(ref Ref, length int) []uint32
	// Parts returns in which parts of a state of that length some bits of a word stand, as a
	// set. The state that was loaded last is of that length; else it returns none.
	Parts(length int, word int32, mask uint64) (parts uint32)
	// Deferred returns the numbers of the state passed to the last call of Defer, if that call
	// returned true and the state has that length; nil otherwise.
	Deferred(length int) []uint32
	// DeferNumbers is Defer for the state that differs from its parent in some parts, whose numbers
	// are at their places in numbers. The parent was loaded last. The error is nil or ErrFull.
	DeferNumbers(parent Ref, parts uint32, numbers *[MaxNumbers]uint32) error
}

// Sharing is implemented by sessions of a Tree store whose shapes other stores have, too
// ([Share]). A part of a state then has the same bits in all of them, but another number in
// each. Numbers of a session are those of its store.
type Sharing interface {
	Numbering
	// Shared returns where the parts of states of a length begin, in bits, followed by the number
	// of all bits; nil if the length has no shared shape.
	Shared(length int) (cuts []int)
	// PartsOf returns how many parts states of a length with a shape that is shared have.
	PartsOf(length int) int
	// Number returns the numbers of the parts of a state that is not stored. They are valid until
	// the next call. parent and changed are those of Defer. It returns false if the state's length
	// has no shared shape, or if there is no memory for a number.
	Number(s []uint64, parent Ref, changed []int32) (numbers []uint32, ok bool)
	// Part appends the bits of the part with a number, word by word, each from the lowest
	// bit that is of the part.
	Part(dst []uint64, length, part int, number uint32) []uint64
	// PartNumber is the inverse of Part in another store. The error is ErrFull, or there
	// can be no such part.
	PartNumber(length, part int, value []uint64) (number uint32, err error)
	// Put writes a part, as Part tells it, into a state.
	Put(s []uint64, part int, value []uint64)
	// DeferState is Defer for the state with these numbers. The error is nil or ErrFull.
	DeferState(length int, numbers *[MaxNumbers]uint32, parent Ref) error
}

// Parted is implemented by a [Session] of a Tree store. It serves a covered set that is divided
// among the stores of several machines, where the parent of a state can be in another store. What a
// store knows about a parent, a hint, means the same to all of them.
type Parted interface {
	// Hint returns what the store knows about the parent of a stored state; 0 if the state is
	// initial.
	Hint(ref Ref) (hint uint64)
	// Candidates calls yield for the states of this store that a hint can mean,
	// until yield returns false. A hint of this store is taken for one of
	// any of them, so a candidate has to be checked by executing from it. A hint
	// of another store goes through Foreign first.
	Candidates(hint uint64, yield func(Ref) bool)
}

// away marks the Ref of another store.
const away = 1 << 63

// Away returns the Ref of another Tree store as the parent of an Insert into
// this one.
func Away(r Ref) Ref { return r | away }

// Foreign returns a hint of another Tree store for [Parted.Candidates] of this one.
func Foreign(hint uint64) uint64 {
	if hint == 0 || hint&hintCode != 0 {
		return hint
	}
	_, r := Apart(Ref(hint))
	return uint64(Away(r))
}

// Stats are figures about a store, for reports and tuning. Those that do not
// apply to the kind are 0.
type Stats struct {
	Kind      Kind
	States    uint64 // as Len
	Bytes     uint64 // as Bytes: the sum of the four below
	RootBytes uint64 // the table of states, with parents
	NodeBytes uint64 // Tree: the shared parts; Plain: the states' words
	// IndexBytes is what finding the shared parts (or words) takes.
	IndexBytes uint64
	OtherBytes uint64 // directories, counters
	Slots      uint64 // slots of the table of states
	Load       float64
	Nodes      uint64 // Tree: shared parts
	Grows      uint64 // how often a table (or one shard of it) has grown
	FailedCAS  uint64 // compare-and-swaps lost to another worker
	Waits      uint64 // how often a worker waited for a table to grow
	// ExpectedOmissions is the expected number of states that were taken for
	// covered though they were new.
	ExpectedOmissions float64
}

// New returns an empty store. The error says which option is wrong.
func New(o Options) (Store, error) {
	if o.Workers < 0 {
		return nil, fmt.Errorf("statestore: %d workers", o.Workers)
	}
	switch o.Kind {
	case Tree:
		return newTree(o), nil
	case Plain:
		return newPlain(o), nil
	case Compact:
		return newCompact(o), nil
	case Bitstate:
		return newBitstate(o), nil
	}
	return nil, fmt.Errorf("statestore: unknown %v", o.Kind)
}
