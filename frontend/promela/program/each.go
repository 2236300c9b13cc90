package program

// Each calls f for an expression and all in it.
func Each(x Expr, f func(Expr)) {
	if x == nil {
		return
	}
	f(x)
	place := func(pl *Place) {
		for _, i := range pl.Index {
			Each(i.X, f)
		}
	}
	switch x := x.(type) {
	case *Load:
		place(x.Place)
	case *Unary:
		Each(x.X, f)
	case *Binary:
		Each(x.X, f)
		Each(x.Y, f)
	case *If:
		Each(x.C, f)
		Each(x.X, f)
		Each(x.Y, f)
	case *Run:
		for _, a := range x.Args {
			Each(a, f)
		}
		Each(x.Priority, f)
	case *ChanOp:
		Each(x.Ch, f)
	case *Poll:
		Each(x.Ch, f)
		for _, a := range x.Args {
			Each(a.Match, f)
			if a.Place != nil {
				place(a.Place)
			}
		}
	case *Call:
		Each(x.X, f)
	case *At:
		Each(x.Pid, f)
	case *RemoteLoad:
		Each(x.Pid, f)
		place(x.Place)
	}
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
