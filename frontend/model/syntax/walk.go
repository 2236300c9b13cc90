package syntax

// Walk calls f for a node and, as long as f returns true, for those below it: parents before
// children, children in the order of the text. Names that declare or select something (the
// variable of a quantifier, a field, a label) are nodes as well. A value that a constant repeats
// from the previous one is visited there, too.
func Walk(n Node, f func(n Node) bool) {
	if !f(n) {
		return
	}
	n.each(func(child Node) { Walk(child, f) })
}

// Find returns the first node of a type in the order of Walk, and whether there
// is one.
func Find[T Node](n Node, match func(T) bool) (found T, ok bool) {
	Walk(n, func(n Node) bool {
		if t, is := n.(T); is && !ok && match(t) {
			found, ok = t, true
		}
		return !ok
	})
	return found, ok
}

// Children returns the nodes directly below a node, in the order of the text.
func Children(n Node) []Node {
	var list []Node
	n.each(func(child Node) { list = append(list, child) })
	return list
}
