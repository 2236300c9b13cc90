package toysystem

import "math/rand/v2"

// RandomHeap makes a program with every kind of operation in the mix: threads
// that create threads and allocate at the same time, objects that are shared,
// linked and dropped, locks that are taken and perhaps not given back. With loops
// its executions need not end, though its states are few.
func RandomHeap(r *rand.Rand, loops bool) *Heap {
	p := &Heap{Globals: []string{"g0", "g1"}, Fields: 1 + r.IntN(2), Regs: 2,
		MaxChildren: 1 + r.IntN(2)}
	reg := func() int { return r.IntN(p.Regs) }
	global := func() int { return r.IntN(len(p.Globals)) }
	code := func(name string, n int, creates []int) {
		c := HeapCode{Name: name}
		for i := 0; i < n; i++ {
			o := HeapOp{A: reg(), B: reg(), C: reg()}
			switch k := r.IntN(20); {
			case k < 4:
				o.Kind = HeapNew
			case k < 6:
				o.Kind, o.A = HeapPut, global()
			case k < 8:
				o.Kind, o.B = HeapGet, global()
			case k < 10:
				o.Kind, o.C = HeapLoad, r.IntN(p.Fields)
			case k < 12:
				o.Kind, o.B = HeapStore, r.IntN(p.Fields)
			case k < 15 && len(creates) > 0:
				o.Kind, o.A = HeapGo, creates[r.IntN(len(creates))]
			case k < 16:
				o.Kind, o.A = []HeapKind{HeapAwait, HeapTake}[r.IntN(2)], global()
			case k < 17:
				o.Kind, o.B = HeapChoose, 1
			case k < 18:
				o.Kind, o.B = HeapIfZero, i+1+r.IntN(n-i)
				if loops {
					o.B = r.IntN(n + 1)
				}
			case k < 19:
				o.Kind, o.B = HeapAssert, r.IntN(2)
			default:
				o.Kind = []HeapKind{HeapSet, HeapMove}[r.IntN(2)]
			}
			c.Ops = append(c.Ops, o)
		}
		p.Codes = append(p.Codes, c)
	}
	code("Leaf", 1+r.IntN(3), nil)
	code("Child", 1+r.IntN(3), []int{0})
	for range 2 {
		code("Main", 2+r.IntN(3), []int{0, 0, 1})
		p.Start = append(p.Start, len(p.Codes)-1)
	}
	return p
}
