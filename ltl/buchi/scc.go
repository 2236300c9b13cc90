package buchi

// components finds the strongly connected components that can be reached from
// the roots (Tarjan 1972, without recursion). comp[v] is -1 for an unreachable
// vertex. Components are numbered so that an edge never leads to a higher number.
func components(n int, roots []int, successors func(v int) []int) (comp []int, count int) {
	comp = make([]int, n)
	low := make([]int, n) // 0: not visited
	for v := range comp {
		comp[v] = -1
	}
	type frame struct {
		v    int
		rest []int
	}
	var calls []frame
	var stack []int
	index := 0
	visit := func(v int) {
		index++
		low[v] = index
		stack = append(stack, v)
		calls = append(calls, frame{v, successors(v)})
	}
	// entry[v] is the visiting order; low[v] sinks below it when v is not a root.
	entry := make([]int, n)
	for _, root := range roots {
		if low[root] != 0 {
			continue
		}
		visit(root)
		entry[root] = index
		for len(calls) > 0 {
			top := &calls[len(calls)-1]
			if len(top.rest) > 0 {
				w := top.rest[0]
				top.rest = top.rest[1:]
				if low[w] == 0 {
					visit(w)
					entry[w] = index
				} else if comp[w] < 0 {
					low[top.v] = min(low[top.v], entry[w])
				}
				continue
			}
			v := top.v
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				parent := calls[len(calls)-1].v
				low[parent] = min(low[parent], low[v])
			}
			if low[v] == entry[v] {
				for {
					w := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					comp[w] = count
					if w == v {
						break
					}
				}
				count++
			}
		}
	}
	return comp, count
}

// acceptingCycle reports whether a cycle whose edges carry all the marks in want can
// be reached from the roots. edges calls yield for each edge of a vertex.
func acceptingCycle(n int, roots []int, want uint64,
	edges func(v int, yield func(w int, marks uint64))) bool {
	comp, count := components(n, roots, func(v int) []int {
		var list []int
		edges(v, func(w int, _ uint64) { list = append(list, w) })
		return list
	})
	seen := make([]uint64, count)
	cyclic := make([]bool, count)
	for v := range n {
		if comp[v] < 0 {
			continue
		}
		edges(v, func(w int, marks uint64) {
			if comp[w] == comp[v] {
				seen[comp[v]] |= marks
				cyclic[comp[v]] = true
			}
		})
	}
	for c := range count {
		if cyclic[c] && seen[c]&want == want {
			return true
		}
	}
	return false
}
