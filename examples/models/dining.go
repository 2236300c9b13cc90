package models

import "cpor/model"

// Dining are the dining philosophers (Dijkstra 1971). With BUG, all take the left fork first.
var Dining = model.New("dining", func(b *model.Builder) {
	n, bug := b.Int("N", 4), b.Bool("BUG", false)
	fork := model.NewMutexes(b, "fork", n)

	ps := b.Processes("Philosopher", n, func(p *model.Process, me int) {
		first, second := me, (me+1)%n
		if !bug {
			first, second = min(first, second), max(first, second)
		}
		p.Loop(func() {
			p.Step(fork[first].Lock)
			p.Step(fork[second].Lock)
			p.Label("eating")
			p.Step(fork[second].Unlock)
			p.Step(fork[first].Unlock)
		})
	})
	b.Never("neighbors eat", func() bool {
		for i := range ps {
			if ps[i].At("eating") && ps[(i+1)%n].At("eating") {
				return true
			}
		}
		return false
	})
})
