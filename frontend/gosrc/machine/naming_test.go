package machine

import (
	"math/rand/v2"
	"testing"

	"cpor/frontend/gosrc/compile"
)

// TestNaming holds the names of objects that come, go and are replaced to a look at all.
func TestNaming(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	types := []*compile.Type{{Size: 1}, {Size: 2}}
	m := &Machine{objs: []object{{}}}
	seq := int32(0)
	fresh := func() object {
		seq++
		return object{creator: int32(r.IntN(2)), seq: seq, typ: types[r.IntN(2)],
			size: uint32(r.IntN(2))}
	}
	for range 2000 {
		switch k := r.IntN(6); {
		case k < 3:
			m.objs = append(m.objs, fresh())
		case k < 4:
			m.objs = m.objs[:1+r.IntN(len(m.objs))]
			m.naming.forget(len(m.objs))
		case len(m.objs) > 1:
			id := 1 + r.IntN(len(m.objs)-1)
			m.objs[id] = fresh()
			if k == 5 {
				m.objs[id] = dead
			}
			m.naming.replaced(uint32(id), &m.objs[id])
		}
		if r.IntN(3) > 0 {
			continue
		}
		alike := map[likeness]int{}
		for id, o := range m.objs {
			if o.creator == nobody {
				continue
			}
			if at, ok := m.objectNamed(o.creator, o.seq); !ok || at != uint64(id) {
				t.Fatalf("object %d is found at %d, %v", id, at, ok)
			}
			like := likeness{o.typ, o.kind, o.size}
			if m.named().alike[like][alike[like]] != uint32(id) {
				t.Fatalf("object %d is not the one with number %d of its like", id, alike[like])
			}
			alike[like]++
		}
		if _, ok := m.objectNamed(3, 1); ok {
			t.Fatal("an object that there never was is found")
		}
	}
}
