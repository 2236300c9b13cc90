package models

import "cpor/model"

// Termination detects that a distributed computation has ended (Dijkstra, Feijen, van Gasteren
// 1983). With BUG, waking a machine does not make the waker black.
var Termination = model.New("termination", func(b *model.Builder) {
	n, wakes, bug := b.Int("N", 3), uint8(b.Int("WAKES", 4)), b.Bool("BUG", false)
	busy := model.NewVars(b, "busy", n, false)
	black := model.NewVars(b, "black", n, false)
	token := model.NewVar(b, "token", uint8(n-1)) // who has it
	tokenBlack := model.NewVar(b, "tokenBlack", true)
	left := model.NewVar(b, "left", wakes)
	detected := model.NewVar(b, "detected", false)
	b.Init(func() {
		for _, v := range busy {
			v.Set(b.Choose(2) == 1)
		}
	})
	forever := func(p *model.Process, guard func() bool, body func()) {
		p.Loop(func() {
			p.MayEnd()
			p.When(guard, body)
		})
	}

	b.Processes("Waker", n, func(p *model.Process, me int) {
		forever(p, func() bool { return busy[me].Get() && left.Get() > 0 }, func() {
			to := p.Choose(n)
			left.Set(left.Get() - 1)
			busy[to].Set(true)
			if to > me && !bug {
				black[me].Set(true)
			}
		})
	})
	b.Processes("Sleeper", n, func(p *model.Process, me int) {
		forever(p, busy[me].Get, func() { busy[me].Set(false) })
	})
	b.Processes("Passer", n, func(p *model.Process, me int) {
		forever(p, func() bool {
			return !busy[me].Get() && token.Get() == uint8(me) && !detected.Get()
		}, func() {
			switch {
			case me > 0:
				tokenBlack.Set(tokenBlack.Get() || black[me].Get())
				token.Set(uint8(me - 1))
			case !tokenBlack.Get() && !black[0].Get():
				detected.Set(true)
			default:
				tokenBlack.Set(false)
				token.Set(uint8(n - 1))
			}
			black[me].Set(false)
		})
	})
	b.Invariant("over", func() bool {
		if detected.Get() {
			for _, v := range busy {
				if v.Get() {
					return false
				}
			}
		}
		return true
	})
	b.Eventually("found", detected.Get)
})
