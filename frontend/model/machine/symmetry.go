package machine

import (
	"cmp"
	"slices"
	"strings"

	"cpor/frontend/model/compile"
	"cpor/frontend/model/resolve"
	"cpor/system"
)

var _ system.Symmetric = (*System)(nil)

// Threads of a symmetric kind can be exchanged: an instruction uses the number of its thread
// only to compare it for equality with numbers of threads in locks and channels. So a
// permutation of the threads of a kind, applied to the slots and to the numbers in the shared
// locations, is an automorphism.
//
// The shared part relates each thread to locations, and no thread to another: which thread owns
// a mutex, waits for a monitor, is parked at a channel. So exchanging two threads with equal
// slots and equal relations makes no difference, and the state of the orbit in which the threads
// of each kind are sorted by these depends on the orbit only.

// Symmetry implements [system.Symmetric].
func (s *System) Symmetry() string {
	if s.maxThreads > maxWaiters && s.waits() {
		return "" // a thread of a large number cannot wait
	}
	var names []string
	for _, tt := range s.p.Threads {
		if tt.Symmetric {
			names = append(names, tt.Name)
		}
	}
	var which []string
	if len(names) > 0 {
		which = append(which, "which thread of "+strings.Join(names, " and of ")+" is which")
	}
	for _, t := range s.p.Sets {
		if t.Len > 1 {
			which = append(which, "which "+t.Name+" is which")
		}
	}
	return strings.Join(which, ", ")
}

// waits reports whether there are locations with a bit for each thread that waits.
func (s *System) waits() bool {
	return slices.ContainsFunc(s.p.Locs, func(l compile.LocInfo) bool {
		return l.Role == compile.MonitorWaiters || l.Role == compile.CondWaiters
	})
}

// relation is what a shared location says about a thread.
type relation struct {
	loc  int
	what uint64
}

// sorter finds representatives for one goroutine.
type sorter struct {
	s        *System
	relating []int        // the locations that name threads
	groups   [][]int      // threads that can be exchanged
	of       [][]relation // by thread
	related  bool         // of is that of the state
	order    []int        // of a group
	to       []int        // by thread, its new number
	slots    []uint64
}

// Representatives implements [system.Symmetric].
func (s *System) Representatives() func(system.State) {
	o := &sorter{s: s}
	for l := range s.p.Locs {
		if relates(&s.p.Locs[l]) {
			o.relating = append(o.relating, l)
		}
	}
	if !s.dynamic {
		o.group(s.threads, func(t int) *compile.ThreadType { return s.types[t] })
	}
	if s.named() {
		return s.newRenamer(o).represent
	}
	return o.represent
}

// named reports whether there are exchangeable names.
func (s *System) named() bool {
	return slices.ContainsFunc(s.p.Sets, func(t *resolve.Type) bool { return t.Len > 1 })
}

// relates reports whether a location names threads.
func relates(info *compile.LocInfo) bool {
	return info.Mutex || info.Role == compile.MonitorOwner || info.Role == compile.RWWriter ||
		waiting(info) || parking(info)
}

func waiting(info *compile.LocInfo) bool {
	return info.Role == compile.MonitorWaiters || info.Role == compile.CondWaiters
}

func parking(info *compile.LocInfo) bool { return info.Role == compile.ChanSlot && info.Bits == 0 }

// group finds out which threads can be exchanged.
func (o *sorter) group(n int, typeOf func(t int) *compile.ThreadType) {
	o.groups = o.groups[:0]
	for _, tt := range o.s.p.Threads {
		if !tt.Symmetric {
			continue
		}
		var group []int
		for t := range n {
			if typeOf(t) == tt {
				group = append(group, t)
			}
		}
		if len(group) > 1 {
			o.groups = append(o.groups, group)
		}
	}
}

// represent turns a state into the state of its orbit in which the threads are sorted.
func (o *sorter) represent(state system.State) {
	s := o.s
	n := s.threadsIn(state)
	if s.dynamic {
		o.group(n, func(t int) *compile.ThreadType { return s.typeIn(state, t) })
	}
	o.related = false
	moved := false
	for _, g := range o.groups {
		if slices.IsSortedFunc(g, func(t, u int) int { return o.compare(state, n, t, u) }) {
			continue
		}
		if !moved {
			moved = true
			o.to = o.to[:0]
			for t := range n {
				o.to = append(o.to, t)
			}
		}
		o.order = append(o.order[:0], g...)
		slices.SortStableFunc(o.order, func(t, u int) int { return o.compare(state, n, t, u) })
		for i, t := range o.order {
			o.to[t] = g[i]
		}
	}
	if moved {
		o.apply(state, n)
	}
}

// typeIn returns the type of a thread in an encoded state.
func (s *System) typeIn(state system.State, t int) *compile.ThreadType {
	if !s.dynamic && s.p.TypeBits == 0 {
		return s.types[t]
	}
	if s.p.TypeBits == 0 {
		return s.p.Threads[0]
	}
	w, sh := s.slot(t)
	return s.p.Threads[state[w]>>(uint(s.p.WaitBits)+sh)&maskOf(s.p.TypeBits)]
}

// word returns a word of a thread's slot.
func (s *System) slotWord(state system.State, t, i int) uint64 {
	w, sh := s.slot(t)
	return state[w+i] >> sh & maskOf(min(64, s.p.SlotBits-64*i))
}

// compare orders threads by their slots, and by their relations to shared locations.
func (o *sorter) compare(state system.State, n, t, u int) int {
	for i := range o.s.slotWords {
		if c := cmp.Compare(o.s.slotWord(state, t, i), o.s.slotWord(state, u, i)); c != 0 {
			return c
		}
	}
	if len(o.relating) == 0 {
		return 0
	}
	if !o.related {
		o.relate(state, n)
	}
	return slices.CompareFunc(o.of[t], o.of[u], func(a, b relation) int {
		return cmp.Or(cmp.Compare(a.loc, b.loc), cmp.Compare(a.what, b.what))
	})
}

// relate collects the relations of each thread to shared locations.
func (o *sorter) relate(state system.State, n int) {
	o.related = true
	for len(o.of) < n {
		o.of = append(o.of, nil)
	}
	for t := range o.of {
		o.of[t] = o.of[t][:0]
	}
	for _, l := range o.relating {
		v := o.s.locs[l].get(state)
		info := &o.s.p.Locs[l]
		switch {
		case v == 0:
		case waiting(info):
			for t := range n {
				if t < maxWaiters && v>>t&1 != 0 {
					o.of[t] = append(o.of[t], relation{l, 1})
				}
			}
		case parking(info):
			state, who, k := unmark(int64(v))
			o.of[who] = append(o.of[who], relation{l, uint64(markOf(state, 0, k))})
		default:
			o.of[v-1] = append(o.of[v-1], relation{l, 1})
		}
	}
}

// apply gives the threads the numbers in to.
func (o *sorter) apply(state system.State, n int) {
	s := o.s
	o.slots = o.slots[:0]
	for t := range n {
		for i := range s.slotWords {
			o.slots = append(o.slots, s.slotWord(state, t, i))
		}
	}
	for t := range n {
		w, sh := s.slot(o.to[t])
		for i := range s.slotWords {
			mask := maskOf(min(64, s.p.SlotBits-64*i))
			state[w+i] = state[w+i]&^(mask<<sh) | o.slots[t*s.slotWords+i]<<sh
		}
	}
	for _, l := range o.relating {
		v := s.locs[l].get(state)
		info := &s.p.Locs[l]
		switch {
		case v == 0:
			continue
		case waiting(info):
			was := v
			v = 0
			for t := range min(n, maxWaiters) {
				v |= was >> t & 1 << o.to[t]
			}
		case parking(info):
			state, who, k := unmark(int64(v))
			v = uint64(markOf(state, o.to[who], k))
		default:
			v = uint64(o.to[v-1] + 1)
		}
		s.locs[l].put(state, v)
	}
}
