package models

import "cpor/model"

// Decision is what becomes of a transaction.
type Decision uint8

// The decisions.
const (
	Undecided Decision = iota
	Committed
	Aborted
)

// String returns the name of a decision.
func (d Decision) String() string { return [...]string{"Undecided", "Committed", "Aborted"}[d] }

// TwoPhaseCommit is two-phase commit, with a coordinator that can crash (Gray 1978). With BUG, a
// participant that has voted yes aborts on its own when it thinks that the coordinator is gone.
var TwoPhaseCommit = model.New("twophasecommit", func(b *model.Builder) {
	n, most, bug := b.Int("N", 2), uint8(b.Int("CRASHES", 1)), b.Bool("BUG", false)
	ask := model.NewChans[bool](b, "ask", n, 1)
	vote := model.NewChans[bool](b, "vote", n, 1)
	tell := model.NewChans[Decision](b, "tell", n, 2)
	logged := model.NewVar(b, "logged", Undecided) // survives a crash
	decided := model.NewVars(b, "decided", n, Undecided)
	crashes := model.NewVar(b, "crashes", uint8(0))

	b.Process("Coordinator", func(p *model.Process) {
		for i := range n {
			p.Step(func() { ask[i].Send(true) })
		}
		commit := model.NewLocal(p, "commit", true)
		for i := range n {
			p.Step(func() { yes := vote[i].Receive(); commit.Set(commit.Get() && yes) })
		}
		p.If(commit.Get,
			func() { p.Step(func() { logged.Set(Committed) }) },
			func() { p.Step(func() { logged.Set(Aborted) }) })
		known := model.NewLocal(p, "known", Undecided)
		p.Label("restart")
		p.Step(func() { known.Set(logged.Get()); commit.Clear() })
		for i := range n {
			p.Step(func() {
				if crashes.Get() < most && p.Choose(2) == 1 {
					crashes.Set(crashes.Get() + 1)
					known.Clear()
					p.Goto("restart")
				} else {
					tell[i].Send(known.Get())
				}
			})
		}
	})

	b.Processes("Participant", n, func(p *model.Process, me int) {
		p.Step(func() {
			if ask[me].Receive(); p.Choose(2) == 1 {
				p.Goto("yes")
			}
		})
		p.Step(func() { decided[me].Set(Aborted) })
		p.Step(func() { vote[me].Send(false); p.Stop() })
		p.Label("yes")
		p.Step(func() { vote[me].Send(true) })
		gone := func() bool { return bug && tell[me].Len() == 0 } // it thinks so
		p.Select(
			model.Do(func() { decided[me].Set(tell[me].Receive()) }),
			model.When(gone, func() { decided[me].Set(Aborted) }))
	})

	b.Never("disagreement", func() bool {
		var any [3]bool
		for _, d := range decided {
			any[d.Get()] = true
		}
		return any[Committed] && any[Aborted]
	})
})
