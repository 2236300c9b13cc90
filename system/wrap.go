package system

// As returns the first of x and of what x wraps that implements the interface T,
// which is one of the optional ones of this package. x is a [System] or a
// [Machine]; a wrapper has a method Unwrap() System, or Unwrap() Machine.
//
// What it returns is of the wrapped machine itself: it shares the live state
// and the undo log of the whole, for a wrapper's marks are its machine's.
func As[T any](x any) (T, bool) {
	for {
		if t, ok := x.(T); ok {
			return t, true
		}
		switch w := x.(type) {
		case interface{ Unwrap() System }:
			x = w.Unwrap()
		case interface{ Unwrap() Machine }:
			x = w.Unwrap()
		default:
			var none T
			return none, false
		}
	}
}

// Adding is implemented by machines of wrappers that let transitions access more
// than in the wrapped system, so that fewer of them are independent.
type Adding interface {
	// OwnAccesses returns what the last Step accessed in the wrapped system. It is
	// valid as long as what Accesses returns.
	OwnAccesses() []Access
}

// OwnAccesses returns what the last step of a machine accessed by itself, without
// what wrappers added.
func OwnAccesses(m Machine) []Access {
	if a, ok := As[Adding](m); ok {
		return a.OwnAccesses()
	}
	return m.Accesses()
}
