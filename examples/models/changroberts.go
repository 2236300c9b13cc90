package models

import "cpor/model"

// ChangRoberts is the election of a leader in a ring (Chang, Roberts 1979), in any order of the
// numbers. With BUG, smaller numbers are passed on, too, so that every node gets its own back.
var ChangRoberts = model.New("changroberts", func(b *model.Builder) {
	n, bug := b.Int("N", 4), b.Bool("BUG", false)
	number := model.NewVars(b, "number", n, uint8(0))
	link := model.NewChans[uint8](b, "link", n, n)
	leader := model.NewVars(b, "leader", n, false)
	b.Init(func() {
		taken := map[uint8]bool{}
		for _, v := range number {
			mine := uint8(b.Choose(n) + 1)
			b.Require(!taken[mine])
			taken[mine] = true
			v.Set(mine)
		}
	})

	b.Processes("Node", n, func(p *model.Process, me int) {
		right := link[(me+1)%n]
		mine := model.NewLocal(p, "mine", uint8(0))
		p.Step(func() { mine.Set(number[me].Get()) })
		p.Step(func() { right.Send(mine.Get()) })
		p.Loop(func() {
			got := model.NewLocal(p, "got", uint8(0))
			p.MayEnd()
			p.Step(func() { got.Set(link[me].Receive()) })
			p.If(func() bool { return got.Get() == mine.Get() },
				func() { p.Step(func() { leader[me].Set(true) }) },
				func() {
					p.If(func() bool { return got.Get() > mine.Get() || bug },
						func() { p.Step(func() { right.Send(got.Get()) }) }, nil)
				})
		})
	})
	leaders := func() (count int, which uint8) {
		for i := range n {
			if leader[i].Get() {
				count, which = count+1, max(which, number[i].Get())
			}
		}
		return count, which
	}
	b.Invariant("one leader", func() bool { count, _ := leaders(); return count <= 1 })
	b.Invariant("the greatest", func() bool {
		for i := range n {
			if leader[i].Get() && number[i].Get() != uint8(n) {
				return false
			}
		}
		return true
	})
	b.Eventually("elected", func() bool { count, _ := leaders(); return count > 0 })
})
