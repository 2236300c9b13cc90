package machine

import (
	"cmp"
	"hash/maphash"
	"slices"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// An encoded state consists of
//
//   - whether the program has ended, the number of the scenario, how many alarms have gone off
//     (if that is bounded), the clock (if the program has read it), the output (if it is part of
//     the state), what matters of the scenario's history (monitor.go);
//   - the goroutines, parents first and children in the order of their creation,
//     with their frames and the registers whose values may still be used;
//   - the number of other reachable objects;
//   - the initial objects that were changed, by number;
//   - all other reachable objects, in the order of the traversal;
//   - if the search stores states and looks for races, happens-before (history.go).
//
// A reference is the number of an object and an offset. Initial objects keep their numbers; the
// others follow in the order of the encoding. A channel begins with its oldest value, a map has
// its entries without holes, and an alarm the remaining time.

// encoder writes a state.
type encoder struct {
	m     *Machine
	dst   system.State
	first int // the number of objects of the beginning, with nil
	// met has the place of each object in list that this encoding, the now-th, has met.
	met   []meeting
	now   uint32
	list  []uint32
	order []int32 // goroutines
	place map[int32]int32
	mine  []int32 // what encode sorts
}

// meeting is a place that holds in one encoding.
type meeting struct {
	now   uint32
	place int32
}

// at returns the place of an object that was met.
func (e *encoder) at(id uint32) (place int32, ok bool) {
	if int(id) >= len(e.met) || e.met[id].now != e.now {
		return 0, false
	}
	return e.met[id].place, true
}

func (e *encoder) word(ws ...uint64) { e.dst = append(e.dst, ws...) }

// ref translates a pointer.
func (e *encoder) ref(p uint64) uint64 {
	id := uint32(p >> 32)
	if id == 0 || int(id) < e.first {
		return p
	}
	k, ok := e.at(id)
	if !ok {
		if int(id) >= len(e.met) {
			e.met = append(e.met, make([]meeting, len(e.m.objs)-len(e.met))...)
		}
		k = int32(len(e.list))
		e.met[id] = meeting{e.now, k}
		e.list = append(e.list, id)
	}
	return uint64(e.first+int(k))<<32 | uint64(uint32(p))
}

// value writes a value.
func (e *encoder) value(t *compile.Type, v []uint64) {
	if t.Kind == compile.Iterator {
		pos := v[1]
		if id := uint32(v[0] >> 32); id != 0 && (int(id) >= e.first || e.m.sys.first != nil &&
			touched(e.m, e.m.sys.first, id)) {
			pos = e.m.rank(v[0], pos)
		}
		e.word(e.ref(v[0]), pos)
		return
	}
	from := len(e.dst)
	e.dst = append(e.dst, v[:t.Size]...)
	out := e.dst[from:]
	for _, r := range t.Refs {
		w := v[r.Off]
		switch r.Kind {
		case compile.RefPointer:
			out[r.Off] = e.ref(w)
		case compile.RefFunc:
			if w&compile.StaticFunc == 0 {
				out[r.Off] = e.ref(w)
			}
		case compile.RefInterface:
			if w != 0 {
				out[r.Off+1] = e.iface(e.m.p.TypeByID(w), v[r.Off+1])
			}
		}
	}
}

// iface translates the word of an interface.
func (e *encoder) iface(t *compile.Type, w uint64) uint64 {
	if t.Size > 1 || t.Size == 1 && len(t.Refs) == 1 && (t.Refs[0].Kind != compile.RefFunc ||
		w&compile.StaticFunc == 0) {
		return e.ref(w)
	}
	return w
}

// rank returns how many entries of a map were inserted up to number seq.
func (m *Machine) rank(mp, seq uint64) (n uint64) {
	if mp == 0 || seq == 0 {
		return 0
	}
	m.eachEntry(mp, func(x []uint64) {
		if x[0] <= seq {
			n++
		}
	})
	return n
}

func (m *Machine) encoder() *encoder {
	e := &encoder{m: m, place: map[int32]int32{}}
	e.again()
	return e
}

// again prepares for the next encoding.
func (e *encoder) again() {
	if e.now++; e.now == 0 {
		clear(e.met)
		e.now = 1
	}
	clear(e.place)
	e.list, e.order = e.list[:0], e.order[:0]
	e.first = len(e.m.objs)
	if f := e.m.sys.first; f != nil {
		e.first = len(f.objs)
	}
}

// Encode implements [system.Machine].
func (m *Machine) Encode(dst system.State) system.State {
	if m.encodes == nil {
		m.encodes = m.encoder()
	}
	e := m.encodes
	e.again()
	e.dst = dst[:0]
	m.encode(e)
	if m.sys.history() {
		e.history()
	}
	dst, e.dst = e.dst, nil
	return dst
}

func (m *Machine) encode(e *encoder) {
	f := m.sys.first
	clock := uint64(0)
	if m.clockWasRead {
		clock = uint64(m.now - m.clockBegan)
	}
	e.word(flag(m.exited)|flag(m.clockWasRead)<<1|uint64(uint32(m.fired))<<2|
		uint64(m.scenario)<<34, clock, m.outText, uint64(m.monitor))
	// The goroutines, parents first.
	add := func(parent int32) {
		mine := e.mine[:0]
		for _, g := range m.gors {
			if g.status != absent && m.sys.threads.Name(uint32(g.number)).parent == parent {
				mine = append(mine, g.number)
			}
		}
		slices.SortFunc(mine, func(a, b int32) int {
			return cmp.Compare(m.sys.threads.Name(uint32(a)).n, m.sys.threads.Name(uint32(b)).n)
		})
		e.mine = mine
		for _, n := range mine {
			e.place[n] = int32(len(e.order))
			e.order = append(e.order, n)
		}
	}
	add(-1)
	for i := 0; i < len(e.order); i++ {
		add(e.order[i])
	}
	e.word(uint64(len(e.order)))
	for _, n := range e.order {
		e.goroutine(m.gors[n])
	}
	// The number of other objects comes first: initial maps get parts when they are read, which
	// follow all of these.
	others := len(e.dst)
	e.word(0)
	// Initial objects that were changed.
	count := len(e.dst)
	e.word(0)
	if f != nil && f != m {
		for _, id := range m.soiled(f) {
			if changed(m, f, id) {
				e.dst[count]++
				e.word(uint64(id))
				e.object(id)
			}
		}
	}
	// The others; the list grows while it is written.
	for i := 0; i < len(e.list); i++ {
		e.object(e.list[i])
	}
	e.dst[others] = uint64(len(e.list))
}

// changed reports whether an initial object has changed. A map that was and is empty has not
// changed, whatever was put into it meanwhile.
func changed(m, f *Machine, id uint32) bool {
	o := &f.objs[id]
	if o.kind == mapObj && f.mem[o.base+mapLen] == 0 && m.mem[o.base+mapLen] == 0 {
		return false
	}
	return touched(m, f, id)
}

// touched reports whether the words of an initial object have changed.
func touched(m, f *Machine, id uint32) bool {
	o := &f.objs[id]
	if !slices.Equal(f.mem[o.base:o.base+o.size], m.mem[o.base:o.base+o.size]) {
		return true
	}
	if o.kind == mapObj {
		if p := m.mem[o.base+mapEntries]; p != 0 {
			x := &m.objs[p>>32]
			return !slices.Equal(f.mem[x.base:x.base+x.size], m.mem[x.base:x.base+x.size])
		}
	}
	return false
}

func (e *encoder) goroutine(g *goroutine) {
	m := e.m
	name := m.sys.threads.Name(uint32(g.number))
	parent := uint64(0)
	if name.parent >= 0 {
		parent = uint64(e.place[name.parent] + 1)
	}
	flags := flag(g.unstarted) | flag(g.daemon)<<1 | flag(g.delivered)<<2 | flag(g.armed)<<3 | flag(
		g.parked)<<4 | flag(g.timeout)<<5 | flag(g.late)<<6 | flag(g.behind)<<7 | uint64(
		g.status)<<8 | flag(g.bubble)<<16 | flag(g.busy)<<17 | flag(g.words > 0)<<18 | flag(
		g.calm)<<19 | flag(g.call != 0)<<20
	left := uint64(0)
	if g.armed {
		left = uint64(m.deadlineOf(g) - m.now)
	}
	failure := uint64(0)
	if g.failure != nil {
		failure = m.sys.failureNumber(g.failure)
	}
	children := uint64(g.children)
	e.word(parent, uint64(name.n), flags, children, uint64(g.rands), uint64(uint32(g.which)), left,
		failure, madeWord(g.made), uint64(g.reads), madeWord(g.clockAt))
	if g.words > 0 {
		e.word(e.ref(g.invokes), e.ref(g.sees), uint64(g.words))
	}
	if g.call != 0 {
		e.word(g.call)
	}
	n := 0
	for p := g.panics; p != nil; p = p.next {
		n++
	}
	e.word(uint64(n))
	for p := g.panics; p != nil; p = p.next {
		w := p.value[1]
		if p.value[0] != 0 {
			w = e.iface(m.p.TypeByID(p.value[0]), w)
		}
		e.word(p.value[0], w, flag(p.goexit)|flag(p.recovered)<<1, uint64(p.frame),
			uint64(len(p.stack)))
		for _, t := range p.stack { // programs may ask for it
			e.word(madeWord(t))
		}
	}
	e.word(uint64(len(g.frames)))
	for i := range g.frames {
		f := &g.frames[i]
		e.word(uint64(f.fn.Index), uint64(uint32(f.pc))<<32|uint64(uint32(f.dst)),
			uint64(f.mode)<<1|flag(f.deferred))
		r := g.stack[f.base:]
		for _, s := range liveIn(g, i) {
			e.value(s.Type, r[s.Reg:])
		}
		if at := f.fn.Defers; at >= 0 {
			e.word(e.ref(r[at]))
		}
	}
}

func madeWord(t token) uint64 {
	if t.fn == nil {
		return 0
	}
	return uint64(t.fn.Index+1)<<32 | uint64(uint32(t.pc))
}

// liveIn returns the registers of a frame that may still be used.
func liveIn(g *goroutine, i int) []compile.Slot {
	f := &g.frames[i]
	switch {
	case f.mode == panicking || f.mode == recovered:
		return f.fn.LiveInRecover()
	case i < len(g.frames)-1:
		return f.fn.LiveAfter(f.pc, false)
	case g.delivered:
		return f.fn.LiveAfter(f.pc, true)
	}
	return f.fn.Live(f.pc)
}

// object writes an object.
func (e *encoder) object(id uint32) {
	m := e.m
	o := m.objs[id]
	typ := uint64(0)
	if o.typ != nil {
		typ = uint64(o.typ.ID)
	}
	made := madeWord(token{o.made, o.pc})
	e.word(uint64(o.kind)|flag(o.shared)<<8|typ<<16, made)
	mem := func() []uint64 { return m.mem[o.base : o.base+o.size] }
	switch o.kind {
	case plainObj:
		e.word(uint64(o.size))
		if len(o.typ.Refs) == 0 {
			e.word(mem()...)
			return
		}
		n := o.typ.Size
		at := 0
		for ; at+n <= int(o.size); at += n {
			e.value(o.typ, mem()[at:])
		}
		e.word(mem()[at:]...)
	case chanObj:
		n := mem()[chanCap]
		head := mem()[chanHead]
		count := uint64(0)
		for k := range n {
			count += m.mem[m.addr(m.slot(uint64(id)<<32, k))]
		}
		e.word(n, mem()[chanClosed], mem()[chanTimer], count)
		for k := range count {
			a := m.addr(m.slot(uint64(id)<<32, (head+k)%n))
			e.value(o.typ, m.mem[a+1:])
		}
	case mapObj:
		e.word(mem()[mapLen])
		m.eachEntry(uint64(id)<<32, func(x []uint64) {
			e.value(o.typ.Key, x[1:])
			e.value(o.typ.Elem, x[1+o.typ.Key.Size:])
		})
	case closureObj:
		e.word(uint64(o.fn.Index))
		at := 1
		for _, t := range o.fn.Captured {
			e.value(t, mem()[at:])
			at += t.Size
		}
	case deferObj:
		e.word(uint64(o.size), e.ref(mem()[deferNext]))
		if o.size < deferArgs {
			return
		}
		e.word(mem()[deferWhere], mem()[deferSort])
		c := m.deferSite(o.base)
		v := mem()[deferValue:]
		switch compile.Kind(mem()[deferSort]) {
		case compile.Kind(compile.CallV - compile.CallF):
			w := v[0]
			if w&compile.StaticFunc == 0 {
				w = e.ref(w)
			}
			e.word(w)
		case compile.Kind(compile.CallM - compile.CallF):
			e.word(v[0], e.iface(m.p.TypeByID(v[0]), v[1]))
		}
		at := deferArgs
		for _, t := range c.Types {
			e.value(t, mem()[at:])
			at += t.Size
		}
	}
}

// decoder reads a state.
type decoder struct {
	m  *Machine
	s  system.State
	at int
	// hashed are the maps whose hash tables must be filled.
	hashed []uint32
}

func (d *decoder) next() uint64 {
	d.at++
	return d.s[d.at-1]
}

// Load implements [system.Machine].
func (m *Machine) Load(s system.State) {
	m.restore()
	if slices.Equal(s, m.sys.initial) {
		return
	}
	d := &decoder{m: m, s: s}
	bits := d.next()
	m.exited, m.clockWasRead, m.fired = bits&1 == 1, bits&2 == 2, int32(uint32(bits>>2))
	m.scenario = uint32(bits >> 34)
	m.now, m.clockBegan, m.outText = int64(d.next()), 0, d.next()
	m.monitor = uint32(d.next())
	for _, g := range m.gors {
		g.gstate = gstate{}
		g.frames = g.frames[:0]
	}
	m.fresh, m.freshObj = 0, 0 // nothing goes to the undo log
	numbers := make([]int32, d.next())
	for i := range numbers {
		numbers[i] = d.goroutine(numbers)
	}
	// References are read as they are: initial objects keep their numbers, and the others get
	// theirs in order.
	first := len(m.sys.first.objs)
	n := int(d.next())
	for i := range n {
		m.objs = append(m.objs, object{creator: loadedBy, seq: int32(first + i)})
	}
	for range d.next() {
		d.object(uint32(d.next()))
	}
	for i := range n {
		d.object(uint32(first + i))
	}
	for i := len(m.gors); i > 0 && m.gors[i-1].status == absent; i-- {
		m.gors = m.gors[:i-1]
	}
	for _, id := range d.hashed {
		m.rehash(id)
	}
	if m.sys.history() {
		d.history(numbers)
	}
	m.log, m.words, m.frames, m.states, m.tops = m.log[:0], m.words[:0], m.frames[:0], m.states[:0],
		m.tops[:0]
}

// part makes a part of a map.
func (m *Machine) part(size int) uint64 {
	base := m.load(size)
	m.objs = append(m.objs, object{base: uint32(base), size: uint32(size), kind: mapObj,
		creator: loadedBy, seq: -1})
	return uint64(len(m.objs)-1) << 32
}

// rehash fills the hash table of a map, when everything that keys refer to exists.
func (m *Machine) rehash(id uint32) {
	o := m.objs[id]
	x := m.mem[o.base+mapIndex]
	k := uint64(0)
	m.eachEntry(uint64(id)<<32, func(e []uint64) {
		k++
		h, _ := m.hash(o.typ.Key, e[1:])
		m.index(x, h, k)
	})
}

func (d *decoder) token() token {
	w := d.next()
	if w == 0 {
		return token{}
	}
	return token{d.m.p.FuncByIndex(w>>32 - 1), int32(uint32(w))}
}

func (d *decoder) goroutine(numbers []int32) int32 {
	m := d.m
	name := threadName{parent: -1}
	if p := d.next(); p > 0 {
		name.parent = numbers[p-1]
	}
	name.n = int32(d.next())
	g := m.goroutine(int(m.sys.threads.Number(name)))
	flags := d.next()
	st := gstate{unstarted: flags&1 != 0, daemon: flags&2 != 0, delivered: flags&4 != 0,
		armed: flags&8 != 0, parked: flags&16 != 0, timeout: flags&32 != 0, late: flags&64 != 0,
		behind: flags&128 != 0, status: status(flags >> 8 & 0xff), bubble: flags>>16&1 != 0,
		busy: flags>>17&1 != 0, calm: flags>>19&1 != 0}
	st.children, st.rands, st.which = int32(d.next()), int32(d.next()), int32(uint32(d.next()))
	st.deadline = int64(d.next())
	if st.armed {
		st.deadline += m.now
	}
	if f := d.next(); f > 0 {
		st.failure = m.sys.failure(f)
	}
	g.made = d.token()
	st.reads, st.clockAt = int32(d.next()), d.token()
	if flags>>18&1 != 0 {
		st.invokes, st.sees, st.words = d.next(), d.next(), int32(d.next())
	}
	if flags>>20&1 != 0 {
		st.call = d.next()
	}
	var last *panicRec
	for range d.next() {
		p := &panicRec{value: [2]uint64{d.next(), d.next()}}
		fl := d.next()
		p.goexit, p.recovered, p.frame = fl&1 != 0, fl&2 != 0, int(d.next())
		for range d.next() {
			p.stack = append(p.stack, d.token())
		}
		if last == nil {
			st.panics = p
		} else {
			last.next = p
		}
		last = p
	}
	g.gstate = st
	g.frames = g.frames[:0]
	for left := d.next(); left > 0; left-- {
		fn := m.p.FuncByIndex(d.next())
		w := d.next()
		mo := d.next()
		m.push(g, fn, int32(uint32(w)))
		f := g.top()
		f.pc, f.mode, f.deferred = int32(w>>32), mode(mo>>1), mo&1 == 1
		i := len(g.frames) - 1
		// liveIn needs to know whether the frame is the last one.
		if left > 1 {
			g.frames = append(g.frames, frame{})
		}
		slots := liveIn(g, i)
		g.frames = g.frames[:i+1]
		r := g.regs()
		for _, s := range slots {
			copy(r[s.Reg:], d.s[d.at:d.at+s.Type.Size])
			d.at += s.Type.Size
		}
		if fn.Defers >= 0 {
			r[fn.Defers] = d.next()
		}
	}
	g.gstate.frames = int32(len(g.frames))
	g.saved = len(g.frames)
	return g.number
}

// room gives an object its memory.
func (d *decoder) room(id uint32, size int) []uint64 {
	m := d.m
	o := &m.objs[id]
	if int(id) < len(m.sys.first.objs) {
		for a := o.base; a < o.base+o.size; a += 1 << pageBits {
			m.soil(a)
		}
		m.soil(o.base + o.size - 1)
	}
	if o.size == 0 {
		o.base, o.size = uint32(m.load(size)), uint32(size)
	}
	return m.mem[o.base : o.base+o.size]
}

func (d *decoder) object(id uint32) {
	m := d.m
	w := d.next()
	o := &m.objs[id]
	o.kind, o.shared = objKind(w&0xff), w>>8&1 == 1
	if t := w >> 16; t != 0 {
		o.typ = m.p.TypeByID(t)
	}
	made := d.token()
	o.made, o.pc = made.fn, made.pc
	words := func(mem []uint64) {
		copy(mem, d.s[d.at:d.at+len(mem)])
		d.at += len(mem)
	}
	switch o.kind {
	case plainObj:
		words(d.room(id, int(d.next())))
	case chanObj:
		n := int(d.next())
		mem := d.room(id, max(1, chanSlots+n*(1+o.typ.Size)))
		clear(mem)
		mem[chanCap], mem[chanClosed], mem[chanTimer] = uint64(n), d.next(), d.next()
		count := int(d.next())
		for k := range count {
			at := chanSlots + k*(1+o.typ.Size)
			mem[at] = 1
			words(mem[at+1 : at+1+o.typ.Size])
		}
		if n > 0 {
			mem[chanTail] = uint64(count % n)
		}
	case mapObj:
		t := o.typ
		n := int(d.next())
		mem := d.room(id, mapHeader)
		clear(mem)
		if n == 0 {
			return
		}
		// The entries are contiguous; a hash table is made when the map grows or, for many
		// entries, now.
		size := entrySize(t)
		room := max(4, 2*n)
		entries := m.part(room * size)
		a := m.addr(entries)
		var index uint64
		if room > fewEntries {
			k := 16
			for k < 2*room {
				k *= 2
			}
			index = m.part(k)
		}
		for k := range n {
			e := m.mem[a+uint32(k*size) : a+uint32((k+1)*size)]
			e[0] = uint64(k + 1)
			words(e[1:])
		}
		base := m.objs[id].base
		h := m.mem[base : base+mapHeader]
		h[mapLen], h[mapUsed], h[mapEntries], h[mapIndex], h[mapSeq] = uint64(n), uint64(n),
			entries, index, uint64(n)
		if index != 0 {
			d.hashed = append(d.hashed, id)
		}
	case closureObj:
		o.fn = m.p.FuncByIndex(d.next())
		size := 1
		for _, t := range o.fn.Captured {
			size += t.Size
		}
		mem := d.room(id, size)
		mem[0] = uint64(o.fn.Index)
		words(mem[1:])
	case deferObj:
		mem := d.room(id, int(d.next()))
		mem[deferNext] = d.next()
		if len(mem) < deferArgs {
			return
		}
		mem[deferWhere], mem[deferSort] = d.next(), d.next()
		switch compile.Kind(mem[deferSort]) {
		case compile.Kind(compile.CallV - compile.CallF):
			mem[deferValue] = d.next()
		case compile.Kind(compile.CallM - compile.CallF):
			mem[deferValue], mem[deferValue+1] = d.next(), d.next()
		}
		words(mem[deferArgs:])
	}
}

var hashSeed = maphash.MakeSeed()

// Hash implements [system.Machine]: it is that of the encoding.
func (m *Machine) Hash() uint64 {
	if !m.track {
		return 0
	}
	m.buf = m.Encode(m.buf)
	var h maphash.Hash
	h.SetSeed(hashSeed)
	for _, w := range m.buf {
		maphash.WriteComparable(&h, w)
	}
	return h.Sum64()
}

// Renamed implements [system.Renaming]: objects get the numbers of the encoding, and
// the slots of a channel begin with the oldest value.
func (m *Machine) Renamed(l system.Loc) (system.Loc, bool) {
	n := m.sys.locs.Name(uint32(l))
	creator, seq := &n.a, &n.b
	switch n.kind {
	case wordLoc:
	case waitLoc, offerLoc, shareEntry, shareAdds, sharePlace:
		creator, seq = &n.b, &n.c
	default:
		return l, true
	}
	if m.sys.first == m {
		return l, true
	}
	first := len(m.sys.first.objs)
	id := uint32(0)
	for i := len(m.objs) - 1; i > 0; i-- {
		if o := &m.objs[i]; o.creator == *creator && o.seq == *seq {
			id = uint32(i)
			break
		}
	}
	if id == 0 {
		return 0, false
	}
	o := &m.objs[id]
	if n.kind == wordLoc && o.kind == chanObj && n.c >= chanSlots {
		if k := int32(m.mem[o.base+chanCap]); k > 0 {
			size := int32(1 + o.typ.Size)
			slot, rest := (n.c-chanSlots)/size, (n.c-chanSlots)%size
			n.c = chanSlots + (slot-int32(m.mem[o.base+chanHead])+k)%k*size + rest
		}
	}
	if int(id) < first {
		return m.loc(n), true
	}
	e := m.encoder()
	e.first = first
	m.encode(e)
	k, ok := e.at(id)
	if !ok {
		return 0, false
	}
	*creator, *seq = loadedBy, int32(first)+k
	return m.loc(n), true
}
