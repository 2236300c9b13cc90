package buchi

import (
	"fmt"
	"math/bits"
)

// disjoint reports whether no word is accepted by both a and b. Atoms are
// identified by name. An error says that there are more than MaxAtoms together.
func disjoint(a, b *Automaton) (bool, error) {
	atoms := append([]string(nil), a.Atoms...)
	index := map[string]int{}
	for i, name := range atoms {
		index[name] = i
	}
	position := make([]int, len(b.Atoms))
	for i, name := range b.Atoms {
		j, ok := index[name]
		if !ok {
			j = len(atoms)
			atoms = append(atoms, name)
		}
		position[i] = j
	}
	if len(atoms) > MaxAtoms {
		return false, fmt.Errorf("buchi: the two automata have %d atoms, at most %d are possible",
			len(atoms), MaxAtoms)
	}
	out := make([][]Transition, len(b.Out))
	for q, ts := range b.Out {
		for _, t := range ts {
			out[q] = append(out[q],
				Transition{Label{permute(t.Label.Pos, position), permute(t.Label.Neg, position)},
					t.Dst})
		}
	}
	n := len(b.Out)
	found := acceptingCycle(len(a.Out)*n, []int{a.Init*n + b.Init}, 3,
		func(v int, yield func(int, uint64)) {
			p, q := v/n, v%n
			marks := mark(a.Accepting[p], 1) | mark(b.Accepting[q], 2)
			for _, t := range a.Out[p] {
				for _, u := range out[q] {
					if (t.Label.Pos|u.Label.Pos)&(t.Label.Neg|u.Label.Neg) == 0 {
						yield(t.Dst*n+u.Dst, marks)
					}
				}
			}
		})
	return !found, nil
}

// permute moves bit i of set to position[i].
func permute(set uint64, position []int) uint64 {
	var r uint64
	for ; set != 0; set &= set - 1 {
		r |= 1 << position[bits.TrailingZeros64(set)]
	}
	return r
}
