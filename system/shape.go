package system

// Shape bounds what the next transition of a thread can be, whatever the other
// threads have done before it.
type Shape uint8

const (
	// MayBlock: there may be states in which it is blocked.
	MayBlock Shape = 1 << iota
	// MayChoose: there may be states in which it has several alternatives.
	MayChoose
	// MayVary: its accesses may differ from state to state.
	MayVary
	// MayRoam: it may touch other locations in other states.
	MayRoam

	// AnyShape is the shape of a transition about which nothing is known.
	AnyShape = MayBlock | MayChoose | MayVary | MayRoam
)

// Shaped is implemented by machines that know the shapes of transitions. Dynamic reductions then
// need not ask what a transition would do elsewhere.
type Shaped interface {
	// Shape returns the shape of the next transition of thread t. It depends
	// on the thread's local part only, and holds wherever the thread exists.
	Shape(t int) Shape
}
