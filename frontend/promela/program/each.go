package program

// Each calls f for an expression and all its parts.
func Each(x Expr, f func(Expr)) {
	var visit func(Expr) // one for all parts: most of the parts have none
	visit = func(x Expr) {
		if x != nil {
			f(x)
			x.each(visit)
		}
	}
	visit(x)
}

// Runs counts the processes that an expression starts.
func Runs(x Expr) int {
	n := 0
	Each(x, func(x Expr) {
		if _, ok := x.(*Run); ok {
			n++
		}
	})
	return n
}
