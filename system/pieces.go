package system

// Pieces is implemented by machines whose states consist of a local part for each thread and a
// value for each shared location. A machine whose local parts point to objects does not implement
// it, because such a part only makes sense in its own state.
type Pieces interface {
	// Accesses returns the accesses of the last Step or StepOn, as
	// [Machine.Accesses] does.
	Accesses() []Access

	// Local writes thread t's local part over dst and returns it. Two local
	// parts of a thread are equal if and only if they are the same local state.
	Local(t int, dst []uint64) []uint64

	// SetLocal replaces thread t's local part by one that Local returned for
	// the same thread, in any state. It can be rewound.
	SetLocal(t int, part []uint64)

	// Value returns the value of a shared location.
	Value(l Loc) uint64

	// SetValue sets a shared location to a value that Value returned for the
	// same location. It can be rewound.
	SetValue(l Loc, v uint64)

	// StepOn executes alternative alt of the next transition of thread t on a
	// local part and on the values of just those locations that it asks for:
	// ask is called at most once for each location, when its value is first
	// needed. Afterwards Accesses, Local(t) and Value of the written
	// locations give the effect; everything else of the live state is
	// meaningless until the next Load. Tracking must be on.
	StepOn(t int, alt uint64, local []uint64, ask func(Loc) uint64) Outcome

	// Whole says why some steps need the whole state, in words that complete "an unfolding is not
	// possible: "; then StepOn must not be called. It is empty if none does.
	Whole() string
}
