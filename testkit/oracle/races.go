package oracle

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"cpor/system"
)

var index = regexp.MustCompile(`\[\d+\]`)

// Races returns the names of the variables (indices left out) on which executions of a system
// have a data race: two accesses of different threads, at least one a write and at least one not
// indivisible, that nothing orders. It executes every interleaving with a vector clock for each
// thread and object (Mattern 1989), so it is for few of them; ok is false if there are more than
// most, or they have more than a hundred times as many transitions, or one is longer than 1000,
// or the machine does not tell how its transitions synchronize.
func Races(sys system.System, most int) (racy map[string]bool, ok bool) {
	m := sys.NewMachine()
	m.Track(true)
	syncs := m.Capabilities().Synchronising
	if syncs == nil {
		return nil, false
	}
	syncs.RecordSyncs(true)
	r := &racer{m: m, syncs: syncs, obs: system.ObserversOf(sys), most: most, steps: 100 * most,
		racy: map[string]bool{}}
	for _, s := range sys.Initial() {
		m.Load(s)
		if !r.explore(&ordered{threads: map[int]vector{}, objects: map[string]vector{},
			past: map[system.Loc][]pastAccess{}}, 0) {
			return nil, false
		}
	}
	return r.racy, true
}

// vector counts, by thread, the transitions that happened before.
type vector map[int]int

func (v vector) join(w vector) {
	for t, n := range w {
		v[t] = max(v[t], n)
	}
}

// ordered is what is known at a point of an execution.
type ordered struct {
	threads map[int]vector
	objects map[string]vector // by location and slot
	past    map[system.Loc][]pastAccess
}

// pastAccess is an access by transition number at of a thread.
type pastAccess struct {
	thread, at         int
	write, indivisible bool
}

func (o *ordered) clone() *ordered {
	c := &ordered{map[int]vector{}, map[string]vector{}, map[system.Loc][]pastAccess{}}
	for t, v := range o.threads {
		c.threads[t] = maps.Clone(v)
	}
	for k, v := range o.objects {
		c.objects[k] = maps.Clone(v)
	}
	for l, as := range o.past {
		c.past[l] = slices.Clone(as)
	}
	return c
}

// thread returns the clock of a thread.
func (o *ordered) thread(t int) vector {
	if o.threads[t] == nil {
		o.threads[t] = vector{}
	}
	return o.threads[t]
}

type racer struct {
	m     system.Machine
	syncs system.Synchronising
	obs   system.Observers
	most  int // executions that are left
	steps int // transitions that are left
	racy  map[string]bool
}

func (r *racer) explore(o *ordered, depth int) bool {
	if r.steps--; depth > 1000 || r.steps < 0 {
		return false
	}
	moved := false
	for t := range r.m.NumThreads() {
		if r.obs.Has(t) {
			continue
		}
		for alt, more := uint64(0), true; more; {
			mark := r.m.Mark()
			out := r.m.Step(t, alt)
			if out.Kind == system.Moved {
				moved = true
				next := o.clone()
				r.step(next, t)
				if !r.explore(next, depth+1) {
					return false
				}
			}
			r.m.Rewind(mark)
			alt, more = out.Next, out.Next != 0
		}
	}
	if !moved {
		r.most--
	}
	return r.most >= 0
}

// step enters the step that was just taken. As a whole it comes after all that it
// acquires and before all that it releases.
func (r *racer) step(o *ordered, t int) {
	me := o.thread(t)
	me[t]++
	var shifts []system.Sync
	syncs := r.syncs.Syncs()
	var released []string
	for _, s := range syncs {
		switch s.Kind {
		case system.Acquire:
			me.join(o.objects[asNumbered(s, shifts)])
		case system.Release:
			released = append(released, asNumbered(s, shifts))
		case system.Meet:
			me.join(o.thread(s.Thread))
		case system.Shift:
			shifts = append(shifts, s)
		}
	}
	r.data(o, t, me)
	for _, k := range released {
		if o.objects[k] == nil {
			o.objects[k] = vector{}
		}
		o.objects[k].join(me)
	}
	for _, s := range syncs {
		if s.Kind == system.Meet || s.Kind == system.Create {
			o.thread(s.Thread).join(me)
		}
	}
	for _, s := range shifts {
		r.shift(o, s)
	}
}

// asNumbered names an object as it was numbered when the step began, before these shifts.
func asNumbered(s system.Sync, shifts []system.Sync) string {
	slot := s.Slot
	for _, b := range slices.Backward(shifts) {
		switch {
		case b.Object != s.Object || s.Slots == 0:
		case slot == b.To:
			slot = b.Slot
		case b.Slot <= slot && slot < b.To:
			slot++
		case b.To < slot && slot <= b.Slot:
			slot--
		}
	}
	return fmt.Sprint(s.Object, "/", slot)
}

// data compares the step's accesses of data with the earlier ones of others.
func (r *racer) data(o *ordered, t int, me vector) {
	data, indivisible := r.syncs.DataAccesses()
	classes := r.m.Capabilities().Locking
	for _, a := range data {
		if !classes.Class(a.Loc).Data() {
			continue
		}
		for _, p := range o.past[a.Loc] {
			if p.thread != t && (p.write || a.Write) && !(p.indivisible && indivisible) &&
				me[p.thread] < p.at {
				r.racy[index.ReplaceAllString(r.m.LocName(a.Loc), "[]")] = true
			}
		}
		o.past[a.Loc] = append(o.past[a.Loc], pastAccess{t, me[t], a.Write, indivisible})
	}
}

// shift renames the slots of a channel: one is taken out and put in elsewhere.
func (r *racer) shift(o *ordered, s system.Sync) {
	var all []vector
	for i := range s.Slots {
		all = append(all, o.objects[fmt.Sprint(s.Object, "/", i)])
	}
	moved := all[s.Slot]
	all = slices.Insert(slices.Delete(all, s.Slot, s.Slot+1), s.To, moved)
	for i := range all {
		if name := fmt.Sprint(s.Object, "/", i); all[i] != nil {
			o.objects[name] = all[i]
		} else {
			delete(o.objects, name)
		}
	}
}
