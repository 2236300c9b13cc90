package models

import (
	"cpor/ltl"
	"cpor/model"
)

// Peterson is Peterson's algorithm for mutual exclusion (1981). With BUG, a process gives way
// before it says that it wants to enter.
var Peterson = model.New("peterson", func(b *model.Builder) {
	bug := b.Bool("BUG", false)
	wants := model.NewVars(b, "wants", 2, false)
	turn := model.NewVar(b, "turn", uint8(0)) // who goes first if both want to

	ps := b.Processes("Process", 2, func(p *model.Process, me int) {
		other := 1 - me
		want := func() { p.Step(func() { wants[me].Set(true) }) }
		p.Loop(func() {
			if !bug {
				want()
			}
			p.Step(func() { turn.Set(uint8(other)) })
			if bug {
				want()
			}
			p.Label("waiting")
			p.Wait(func() bool { return !wants[other].Get() || turn.Get() == uint8(me) })
			p.Label("critical")
			p.Step(func() {})
			p.Step(func() { wants[me].Set(false) })
		})
	})
	b.Invariant("exclusive", func() bool {
		return model.Count(ps[0].At("critical"), ps[1].At("critical")) <= 1
	})
	served := ltl.True()
	for _, p := range ps { // who waits gets in, if no process is left out forever
		waits := b.Prop(p.Name()+" waits", func() bool { return p.At("waiting") })
		in := b.Prop(p.Name()+" is in", func() bool { return p.At("critical") })
		served = ltl.And(served, ltl.Always(ltl.Implies(waits, ltl.Eventually(in))))
	}
	b.Temporal("served", served)
})
