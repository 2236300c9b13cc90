package models_test

import (
	"testing"

	"cpor/model"
)

var counter = model.New("counter", func(b *model.Builder) {
	x := model.NewVar(b, "x", int8(0))
	done := model.NewVars(b, "done", 2, false)
	b.Processes("Worker", 2, func(p *model.Process, me int) {
		p.Step(func() { x.Set(x.Get() + 1) })
		p.Step(func() { done[me].Set(true) })
	})
	b.Invariant("none is lost", func() bool {
		return !done[0].Get() || !done[1].Get() || x.Get() == 2
	})
})

func TestCounter(t *testing.T) { model.Check(t, counter) }
