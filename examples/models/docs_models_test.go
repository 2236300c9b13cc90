package models_test

import (
	"testing"

	"cpor/model"
)

var handover = model.New("handover", func(b *model.Builder) {
	put := model.NewChan[int8](b, "put", 0)
	sent, got := model.NewVar(b, "sent", false), model.NewVar(b, "got", int8(0))
	b.Process("Producer", func(p *model.Process) {
		p.Step(func() { put.Send(7); sent.Set(true) })
	})
	b.Process("Server", func(p *model.Process) {
		p.Step(func() { got.Set(put.Receive()) })
		p.Step(func() { p.Assert(got.Get() == 7, "the value has come") })
	})
	b.Reachable("the server is first", func() bool { return got.Get() == 7 && !sent.Get() })
})

var team = model.New("team", func(b *model.Builder) {
	done := model.NewVars(b, "done", 3, false)
	workers := b.Spawned("Worker", 3, func(p *model.Process, me int) {
		p.Step(func() { done[me].Set(true) })
	})
	b.Process("Main", func(p *model.Process) {
		for i, w := range workers {
			p.Step(func() { p.Assert(!done[i].Get(), "not started yet"); p.Go(w) })
		}
	})
	b.Eventually("all are done", func() bool {
		return done[0].Get() && done[1].Get() && done[2].Get()
	})
})

func TestDocsModels(t *testing.T) {
	model.Check(t, handover)
	model.Check(t, team)
}
