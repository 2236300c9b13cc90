package models

import "cpor/model"

// LineState is what a cache may do with its line.
type LineState uint8

// The states of a line.
const (
	Invalid LineState = iota
	Shared
	Exclusive
	Modified
)

// String returns the name of a state.
func (s LineState) String() string {
	return [...]string{"Invalid", "Shared", "Exclusive", "Modified"}[s]
}

// MESI is the protocol of cache coherence (Papamarcos, Patel 1984): n caches with a line each. With
// BUG, who reads a line gets it exclusively, although others have it.
var MESI = model.New("mesi", func(b *model.Builder) {
	n, bug := b.Int("N", 3), b.Bool("BUG", false)
	line := model.NewVars(b, "line", n, Invalid)
	data := model.NewVars(b, "data", n, false)
	memory := model.NewVar(b, "memory", false)
	latest := model.NewVar(b, "latest", false) // only the invariant looks at it

	b.Processes("Cache", n, func(p *model.Process, me int) {
		read := func() {
			p.Await(line[me].Get() == Invalid)
			to := Exclusive
			for i := range n {
				if s := line[i].Get(); i != me && s != Invalid {
					if to = Shared; s == Modified {
						memory.Set(data[i].Get())
					}
					line[i].Set(Shared)
				}
			}
			if bug {
				to = Exclusive
			}
			data[me].Set(memory.Get())
			line[me].Set(to)
		}
		write := func() {
			v := p.Choose(2) == 1
			if s := line[me].Get(); s == Invalid || s == Shared {
				for i := range n {
					if i != me {
						line[i].Set(Invalid)
					}
				}
			}
			line[me].Set(Modified)
			data[me].Set(v)
			latest.Set(v)
		}
		evict := func() {
			if line[me].Get() == Modified {
				memory.Set(data[me].Get())
			}
			line[me].Set(Invalid)
		}
		p.Loop(func() { p.Select(model.Do(read), model.Do(write), model.Do(evict)) })
	})
	b.Invariant("coherent", func() bool {
		valid, alone := 0, 0
		for _, l := range line {
			s := l.Get()
			valid, alone = valid+model.Count(s != Invalid), alone+model.Count(s >= Exclusive)
		}
		return alone == 0 || valid == 1
	})
	b.Invariant("values", func() bool {
		for i := range n {
			if line[i].Get() != Invalid && data[i].Get() != latest.Get() {
				return false
			}
		}
		return true
	})
})
