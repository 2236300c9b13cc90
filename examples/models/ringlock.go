package models

import "cpor/model"

// RingLock is a lock whose waiting processes stand in a ring of flags (Anderson, "The Performance
// of Spin Lock Alternatives for Shared-Memory Multiprocessors", 1990). With BUG, who gets in leaves
// its flag up for who comes after a round.
var RingLock = model.New("ringlock", func(b *model.Builder) {
	n, bug := b.Int("N", 3), b.Bool("BUG", false)
	next := model.NewVar(b, "next", uint8(0))
	flag := model.NewVars(b, "flag", n, false)
	b.Init(func() { flag[0].Set(true) })

	ps := b.Processes("Worker", n, func(p *model.Process, _ int) {
		p.Loop(func() {
			mine := model.NewLocal(p, "mine", uint8(0))
			p.Step(func() {
				mine.Set(next.Get())
				next.Set((next.Get() + 1) % uint8(n))
			})
			p.Wait(func() bool { return flag[mine.Get()].Get() })
			p.Label("critical")
			p.Step(func() {
				if !bug {
					flag[mine.Get()].Set(false)
				}
			})
			p.Step(func() { flag[(int(mine.Get())+1)%n].Set(true) })
		})
	})
	b.Invariant("exclusive", func() bool {
		in := 0
		for _, p := range ps {
			in += model.Count(p.At("critical"))
		}
		return in <= 1
	})
})
