package native

import (
	"cmp"
	"maps"
	"slices"

	"cpor/system"
)

// Selection is what [SURW] draws evenly: the order of the steps of all threads, or of those that
// touch one object. Who takes the next selected step is drawn in proportion to how many such steps
// a thread has left, with those of the threads that it has yet to start. So if the weights are
// right and nobody blocks, all orders are equally likely: after a step of one thread there are as
// many orders left as that thread's share of the steps that were left. Steps that are not selected
// come at random in between.
//
// If a weight is too small or too large, or if who is drawn is blocked, the distribution is less
// even, but every order remains possible: then another thread is drawn. After 1000 steps without a
// selected one it is somebody else's turn, because those who run may spin until that one moves.
type Selection struct {
	All     bool       // every step is selected
	Object  system.Loc // or those that touch the object with this location
	Weights []Weight   // of the threads that have any
}

// Weight is how many selected steps a thread takes, with those of the threads that it starts, and
// that they start.
type Weight struct {
	Thread int32
	Steps  int
}

// Selections returns what can be selected for the executions of a test: everything, and then each
// object that several threads have touched in one execution, in which steps were told with their
// accesses. The weights are what that execution had.
func (b *Binary) Selections(x *Execution) []Selection {
	steps := map[int32]int{}
	of := map[object]map[int32]int{}
	loc := map[object]system.Loc{}
	for i := range x.Steps {
		s := &x.Steps[i]
		steps[s.Thread]++
		touched := map[object]bool{}
		for _, a := range s.Accesses {
			o, ok := b.object(a.Loc)
			if !ok || touched[o] {
				continue
			}
			touched[o] = true
			if of[o] == nil {
				of[o], loc[o] = map[int32]int{}, a.Loc
			}
			of[o][s.Thread]++
		}
	}
	all := []Selection{{All: true, Weights: b.weights(steps)}}
	for _, o := range slices.SortedFunc(maps.Keys(of), object.compare) {
		if len(of[o]) > 1 {
			all = append(all, Selection{Object: loc[o], Weights: b.weights(of[o])})
		}
	}
	return all
}

// weights adds to the steps of each thread those of the threads that it starts.
func (b *Binary) weights(steps map[int32]int) []Weight {
	total := map[int32]int{}
	for t, n := range steps {
		for t >= 0 {
			total[t] += n
			t = b.threads.Name(uint32(t)).parent
		}
	}
	var w []Weight
	for _, t := range slices.Sorted(maps.Keys(total)) {
		w = append(w, Weight{t, total[t]})
	}
	return w
}

// object names what has several locations, such as a channel: see locName.
type object struct {
	creator int32
	seq     uint32
	offset  uint64
}

func (o object) compare(p object) int {
	return cmp.Or(cmp.Compare(o.creator, p.creator), cmp.Compare(o.seq, p.seq),
		cmp.Compare(o.offset, p.offset))
}

// object returns what a location is a part of; false if that is nothing that operations name.
func (b *Binary) object(l system.Loc) (object, bool) {
	n := b.locs.Name(uint32(l))
	return object{n.creator, n.seq, n.offset}, n.kind < locMet || n.kind >= locEntry
}

// selected writes what is selected into a command.
func (b *Binary) selected(s Selection, c []uint32) {
	c[0] = uint32(len(s.Weights))
	if s.All {
		c[1] = 1
		return
	}
	o, _ := b.object(s.Object)
	name := uint64(0)
	if o.creator >= 0 {
		key, _ := b.key(o.creator)
		name = mix(key, uint64(o.seq))
	}
	c[2], c[3] = uint32(name), uint32(name>>32)
	c[4], c[5] = uint32(o.offset), uint32(o.offset>>32)
}
