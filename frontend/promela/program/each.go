package program

// Each calls f for an expression and all its parts.
func Each(x Expr, f func(Expr)) {
	if x == nil {
		return
	}
	f(x)
	x.each(func(x Expr) { Each(x, f) })
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
