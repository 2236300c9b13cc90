package compile

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/system"
)

// intType returns what arithmetic needs to know about t; bools, pointers and references count as
// unsigned.
func intType(t *resolve.Type, bitsOf func(*resolve.Type) int) IntType {
	b := bitsOf(t)
	it := IntType{Name: t.String(), Bits: b, Signed: t.Kind == resolve.Int && t.Signed}
	switch {
	case it.Signed && b == 64:
		it.Min, it.Max = math.MinInt64, math.MaxInt64
	case it.Signed:
		it.Min, it.Max = -1<<(b-1), 1<<(b-1)-1
	case b >= 63:
		it.Min, it.Max = 0, math.MaxInt64
	default:
		it.Min, it.Max = 0, 1<<b-1
	}
	return it
}

// leafCount returns the number of scalars in a value of type t.
func leafCount(t *resolve.Type) int {
	switch t.Kind {
	case resolve.Array:
		return t.Len * leafCount(t.Elem)
	case resolve.Struct:
		n := 0
		for _, f := range t.Fields {
			n += leafCount(f.Type)
		}
		return n
	}
	return 1
}

// leafTypes appends the types of the scalars in a value of type t.
func leafTypes(dst []*resolve.Type, t *resolve.Type) []*resolve.Type {
	switch t.Kind {
	case resolve.Array:
		for i := 0; i < t.Len; i++ {
			dst = leafTypes(dst, t.Elem)
		}
		return dst
	case resolve.Struct:
		for _, f := range t.Fields {
			dst = leafTypes(dst, f.Type)
		}
		return dst
	}
	return append(dst, t)
}

// leafNames appends the names of the scalars in a value of type t.
func leafNames(dst []string, name string, t *resolve.Type) []string {
	switch t.Kind {
	case resolve.Array:
		for i := 0; i < t.Len; i++ {
			dst = leafNames(dst, fmt.Sprintf("%s[%d]", name, i), t.Elem)
		}
		return dst
	case resolve.Struct:
		for _, f := range t.Fields {
			dst = leafNames(dst, name+"."+f.Name, f.Type)
		}
		return dst
	}
	return append(dst, name)
}

func hasArray(t *resolve.Type) bool {
	switch t.Kind {
	case resolve.Array:
		return true
	case resolve.Struct:
		for _, f := range t.Fields {
			if hasArray(f.Type) {
				return true
			}
		}
	}
	return false
}

// fieldOffset returns the number of scalars before field i of struct t.
func fieldOffset(t *resolve.Type, i int, size func(*resolve.Type) int) int {
	n := 0
	for _, f := range t.Fields[:i] {
		n += size(f.Type)
	}
	return n
}

// sharedSize returns the number of locations of a shared variable of type t.
func (g *gen) sharedSize(t *resolve.Type) int {
	switch t.Kind {
	case resolve.Array:
		return t.Len * g.sharedSize(t.Elem)
	case resolve.Struct:
		n := 0
		for _, f := range t.Fields {
			n += g.sharedSize(f.Type)
		}
		return n
	case resolve.Chan:
		n := leafCount(t.Elem)
		if t.Cap > 0 {
			n = 2 + t.Cap*(1+n)
			if t.Bag {
				n -= 2
			}
		} else {
			n++
		}
		if g.closes {
			n++
		}
		return n
	case resolve.Monitor:
		return 3
	case resolve.RWMutex:
		return 2
	}
	return 1
}

// set returns the number of a Scalarset. Types that are declared as another one have its names.
func (g *gen) set(t *resolve.Type) int {
	t = t.Underlying()
	i := slices.Index(g.p.Sets, t)
	if i < 0 {
		i = len(g.p.Sets)
		g.p.Sets = append(g.p.Sets, t)
	}
	return i
}

// addShared appends the locations of a shared variable.
func (g *gen) addShared(name string, t *resolve.Type) {
	switch t.Kind {
	case resolve.Array:
		for i := 0; i < t.Len; i++ {
			first := len(g.p.Locs)
			g.addShared(fmt.Sprintf("%s[%d]", name, i), t.Elem)
			if t.Index != nil {
				for l := range g.p.Locs[first:] {
					g.p.Locs[first+l].Named = append(g.p.Locs[first+l].Named,
						Named{g.set(t.Index), i, len(g.p.Locs) - first})
				}
			}
		}
	case resolve.Struct:
		for _, f := range t.Fields {
			first := len(g.p.Locs)
			g.addShared(name+"."+f.Name, f.Type)
			for i := first; f.Atomic && i < len(g.p.Locs); i++ {
				g.p.Locs[i].Class = syntax.Communication
			}
		}
	case resolve.Chan:
		g.addChan(name, t)
	case resolve.Mutex:
		g.p.Locs = append(g.p.Locs, LocInfo{Name: name, Type: t, Mutex: true})
	case resolve.Monitor:
		g.p.Monitors = true
		g.p.Locs = append(g.p.Locs,
			LocInfo{Name: name, Role: MonitorOwner},
			LocInfo{Name: name + ".depth", Role: MonitorDepth, Bits: 8},
			LocInfo{Name: name + ".waiters", Role: MonitorWaiters})
	case resolve.RWMutex:
		g.p.Locs = append(g.p.Locs, LocInfo{Name: name, Role: RWWriter},
			LocInfo{Name: name + ".readers", Role: RWReaders, Bits: 10})
	case resolve.WaitGroup:
		g.p.Locs = append(g.p.Locs, LocInfo{Name: name, Role: GroupCount, Bits: 16})
	case resolve.Cond:
		g.p.Locs = append(g.p.Locs, LocInfo{Name: name, Role: CondWaiters})
	case resolve.Semaphore:
		g.p.Locs = append(g.p.Locs, LocInfo{Name: name, Role: SemaphoreCount, Bits: 16})
	default:
		// The width of pointers is set when all locations are known.
		l := LocInfo{Name: name, Type: t}
		if t.Kind == resolve.Int {
			l.Signed = t.Signed
		}
		g.p.Locs = append(g.p.Locs, l)
	}
}

func (g *gen) addChan(name string, t *resolve.Type) {
	p := g.p
	c := Chan{Name: name, Elem: t.Elem, First: len(p.Locs), Cap: t.Cap, Bag: t.Bag,
		Leaves: leafCount(t.Elem), Closed: -1}
	add := func(suffix string, role Role, bits int, lt *resolve.Type) int {
		l := LocInfo{Name: name + suffix, Role: role, Bits: bits, Type: lt}
		if lt != nil {
			l.Signed = lt.Signed
		}
		p.Locs = append(p.Locs, l)
		return len(p.Locs) - 1
	}
	names := leafNames(nil, "", t.Elem)
	types := leafTypes(nil, t.Elem)
	index := max(1, bits.Len(uint(t.Cap-1)))
	if t.Cap > 0 && !t.Bag {
		add(".head", ChanHead, index, nil)
		add(".tail", ChanTail, index, nil)
	} else if t.Cap == 0 {
		p.Rendezvous = true
		c.Slots = add(".parked", ChanSlot, 0, nil)
	}
	if g.closes {
		c.Closed = add(".closed", ChanClosed, 1, nil)
	}
	if t.Cap == 0 {
		c.Values = len(p.Locs)
		for i, lt := range types {
			add(".value"+names[i], ChanValue, 0, lt)
		}
	} else {
		c.Slots = len(p.Locs)
		for k := 0; k < t.Cap; k++ {
			add(fmt.Sprintf(".slot[%d]", k), ChanSlot, 1, nil)
			for i, lt := range types {
				add(fmt.Sprintf(".slot[%d]%s", k, names[i]), ChanValue, 0, lt)
			}
		}
	}
	if t.Bag {
		g.bags[t.Elem] = true
	}
	p.ChanAt[c.First] = len(p.Chans)
	p.Chans = append(p.Chans, c)
}

// bitsOf returns the width of a scalar type.
func (g *gen) bitsOf(t *resolve.Type) int {
	switch t.Kind {
	case resolve.Bool, resolve.UntypedBool:
		return 1
	case resolve.Int:
		return t.Bits
	case resolve.Scalarset:
		g.set(t)
		return bits.Len(uint(t.Len))
	case resolve.Pointer, resolve.UntypedNil:
		return max(1, bits.Len(uint(len(g.p.Locs))))
	case resolve.Chan:
		return max(1, bits.Len(uint(len(g.p.Chans))))
	}
	return 64
}

// overlaps reports whether two variables are alive at a common point. points is sorted.
func overlaps(a, b *Var) bool {
	i, j := 0, 0
	for i < len(a.points) && j < len(b.points) {
		switch {
		case a.points[i] == b.points[j]:
			return true
		case a.points[i] < b.points[j]:
			i++
		default:
			j++
		}
	}
	return false
}

// freeBits finds the lowest place of width bits from bit from on that does not cross a word and
// is free, where taken reports whether a bit is.
func freeBits(width, from int, taken func(bit int) bool) int {
	for at := from; ; at++ {
		if at%64+width > 64 {
			at = (at/64+1)*64 - 1
			continue
		}
		free := true
		for b := at; b < at+width; b++ {
			if taken(b) {
				free, at = false, b
				break
			}
		}
		if free {
			return at
		}
	}
}

// layoutFrame gives every kept variable of a thread type its field, starting
// after the first reserved bits, and returns the number of bits in all.
func (g *gen) layoutFrame(vars []*Var, tt *ThreadType, reserved int) int {
	end := reserved
	// Variables that stay in the slot come first and share nothing: their fields are written
	// while a segment runs, where the points say nothing about them.
	for _, v := range vars {
		if !v.mem {
			continue
		}
		for _, t := range leafTypes(nil, v.Type) {
			at := freeBits(g.bitsOf(t), end, func(int) bool { return false })
			tt.Fields = append(tt.Fields, Field{Word: uint16(at / 64), Shift: uint8(at % 64),
				Bits: uint8(g.bitsOf(t)), Signed: t.Signed})
			end = at + g.bitsOf(t)
		}
	}
	base := end
	var placed []*Var
	for _, v := range vars {
		if v.mem || !v.Kept {
			continue
		}
		taken := map[int]bool{}
		for _, w := range placed {
			if overlaps(v, w) {
				s := int(w.Field.Word)*64 + int(w.Field.Shift)
				for b := s; b < s+w.Bits; b++ {
					taken[b] = true
				}
			}
		}
		at := freeBits(v.Bits, base, func(b int) bool { return taken[b] })
		v.Field = Field{Word: uint16(at / 64), Shift: uint8(at % 64), Bits: uint8(v.Bits),
			Signed: v.Signed}
		placed = append(placed, v)
		end = max(end, at+v.Bits)
	}
	return end
}

// MaxThreads is the largest number of threads that a model may create.
const MaxThreads = 1023

// ThreadBits is the width of a thread number plus one when the number of threads is unknown.
const ThreadBits = 10

// Loc returns the number of a per-thread location of a slot; k counts the
// thread's locations: existence, wait, then what is watched, and where the thread is.
func (p *Program) Loc(slot, k int) system.Loc {
	return system.Loc(len(p.Locs) + 1 + slot*p.PerThread + k)
}

// CountLoc returns the location of the number of threads.
func (p *Program) CountLoc() system.Loc { return system.Loc(len(p.Locs)) }
