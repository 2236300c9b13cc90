package machine

import (
	"fmt"
	"math"
	"unicode/utf8"

	"cpor/frontend/gosrc/compile"
)

// stop is why a goroutine stops computing.
type stop uint8

const (
	atSync  stop = iota // the next instruction synchronises
	atEnd               // the goroutine has ended
	atFault             // it has violated a property
	atTurn              // it lets others go on: it computes on and on, or is about to access memory
)

func norm(k compile.Kind, v uint64) uint64 {
	switch k {
	case compile.Int8:
		return uint64(int8(v))
	case compile.Int16:
		return uint64(int16(v))
	case compile.Int32:
		return uint64(int32(v))
	case compile.Uint8:
		return uint64(uint8(v))
	case compile.Uint16:
		return uint64(uint16(v))
	case compile.Uint32:
		return uint64(uint32(v))
	}
	return v
}

func f32(w uint64) float32 { return math.Float32frombits(uint32(w)) }
func f64(w uint64) float64 { return math.Float64frombits(w) }
func w32(f float32) uint64 { return uint64(math.Float32bits(f)) }
func w64(f float64) uint64 { return math.Float64bits(f) }
func flag(b bool) (w uint64) {
	if b {
		return 1
	}
	return 0
}

// turn reports whether a computation is interrupted before the instruction pc. It may be waiting
// for another goroutine without synchronizing, if it reads shared memory.
func (m *Machine) turn(fn *compile.Func, pc int32) bool {
	return m.met && m.budget >= outOfMemory/2 && !m.sys.halted() && fn.Interruptible(pc)
}

// slice is how many instructions are executed between two checks whether to continue.
const slice = 500_000

// refill reports whether a computation that has used its instructions continues.
func (m *Machine) refill() bool {
	if m.overdue && !m.sys.halted() {
		m.reclaim()
	}
	m.shorten()
	for m.budget < 0 && m.budget >= outOfMemory/2 && m.left > 0 && !m.sys.halted() {
		n := min(slice, m.left)
		m.left -= n
		m.budget += n
	}
	return m.budget >= 0
}

// run computes until the next instruction synchronises. Each call of a function, and
// each return, loads the frame again.
func (m *Machine) run(g *goroutine) stop {
	if len(g.frames) == 0 {
		return atEnd
	}
	for {
		f := g.top()
		fn := f.fn
		code := fn.Code
		r := g.stack[f.base : int(f.base)+fn.Regs+len(fn.Consts)]
		pc := f.pc
	frame:
		for {
			i := &code[pc]
			m.budget--
			switch i.Op {
			case compile.Nop:
			case compile.Move1:
				r[i.A] = r[i.B]
			case compile.MoveN:
				copy(r[i.A:i.A+i.N], r[i.B:i.B+i.N])
			case compile.Zero:
				clear(r[i.A : i.A+i.N])
			case compile.Add:
				r[i.A] = r[i.B] + r[i.C]
			case compile.Sub:
				r[i.A] = r[i.B] - r[i.C]
			case compile.Mul:
				r[i.A] = r[i.B] * r[i.C]
			case compile.AddK:
				switch i.K {
				case compile.Float64:
					r[i.A] = w64(f64(r[i.B]) + f64(r[i.C]))
				case compile.Float32:
					r[i.A] = w32(f32(r[i.B]) + f32(r[i.C]))
				default:
					r[i.A] = norm(i.K, r[i.B]+r[i.C])
				}
			case compile.SubK:
				switch i.K {
				case compile.Float64:
					r[i.A] = w64(f64(r[i.B]) - f64(r[i.C]))
				case compile.Float32:
					r[i.A] = w32(f32(r[i.B]) - f32(r[i.C]))
				default:
					r[i.A] = norm(i.K, r[i.B]-r[i.C])
				}
			case compile.MulK:
				switch i.K {
				case compile.Float64:
					r[i.A] = w64(f64(r[i.B]) * f64(r[i.C]))
				case compile.Float32:
					r[i.A] = w32(f32(r[i.B]) * f32(r[i.C]))
				default:
					r[i.A] = norm(i.K, r[i.B]*r[i.C])
				}
			case compile.DivK:
				switch {
				case i.K == compile.Float64:
					r[i.A] = w64(f64(r[i.B]) / f64(r[i.C]))
				case i.K == compile.Float32:
					r[i.A] = w32(f32(r[i.B]) / f32(r[i.C]))
				case r[i.C] == 0:
					f.pc = pc
					m.throw(g, "integer divide by zero")
					break frame
				case i.K.Signed():
					r[i.A] = norm(i.K, uint64(int64(r[i.B])/int64(r[i.C])))
				default:
					r[i.A] = r[i.B] / r[i.C]
				}
			case compile.RemK:
				switch {
				case r[i.C] == 0:
					f.pc = pc
					m.throw(g, "integer divide by zero")
					break frame
				case i.K.Signed():
					r[i.A] = uint64(int64(r[i.B]) % int64(r[i.C]))
				default:
					r[i.A] = r[i.B] % r[i.C]
				}
			case compile.And:
				r[i.A] = r[i.B] & r[i.C]
			case compile.Or:
				r[i.A] = r[i.B] | r[i.C]
			case compile.Xor:
				r[i.A] = r[i.B] ^ r[i.C]
			case compile.AndNot:
				r[i.A] = r[i.B] &^ r[i.C]
			case compile.Shl, compile.Shr:
				n := r[i.C]
				if compile.Kind(i.N).Signed() && int64(n) < 0 {
					f.pc = pc
					m.throw(g, "negative shift amount")
					break frame
				}
				switch {
				case i.Op == compile.Shl:
					r[i.A] = norm(i.K, r[i.B]<<n)
				case i.K.Signed():
					r[i.A] = uint64(int64(r[i.B]) >> n)
				default:
					r[i.A] = r[i.B] >> n
				}
			case compile.Concat:
				switch {
				case r[i.B] == 0:
					r[i.A] = r[i.C]
				case r[i.C] == 0:
					r[i.A] = r[i.B]
				default:
					a, b := m.text(r[i.B]), m.text(r[i.C])
					if len(a)+len(b) > maxLen {
						f.pc = pc
						m.refuse(g, "makes a string of more than 67 million bytes")
						return atFault
					}
					r[i.A] = m.str(a + b)
				}
			case compile.Not:
				r[i.A] = r[i.B] ^ 1
			case compile.NegK:
				switch i.K {
				case compile.Float64:
					r[i.A] = w64(-f64(r[i.B]))
				case compile.Float32:
					r[i.A] = w32(-f32(r[i.B]))
				default:
					r[i.A] = norm(i.K, -r[i.B])
				}
			case compile.ComK:
				r[i.A] = norm(i.K, ^r[i.B])
			case compile.EqW:
				r[i.A] = flag(r[i.B] == r[i.C])
			case compile.NeW:
				r[i.A] = flag(r[i.B] != r[i.C])
			case compile.EqT, compile.NeT:
				t := fn.Types[i.N]
				eq, bad := m.equal(t, r[i.B:], r[i.C:])
				if bad != nil {
					f.pc = pc
					m.throw(g, "comparing uncomparable type "+typeString(bad))
					break frame
				}
				r[i.A] = flag(eq == (i.Op == compile.EqT))
			case compile.LtS:
				r[i.A] = flag(int64(r[i.B]) < int64(r[i.C]))
			case compile.LeS:
				r[i.A] = flag(int64(r[i.B]) <= int64(r[i.C]))
			case compile.LtU:
				r[i.A] = flag(r[i.B] < r[i.C])
			case compile.LeU:
				r[i.A] = flag(r[i.B] <= r[i.C])
			case compile.LtF:
				if i.K == compile.Float64 {
					r[i.A] = flag(f64(r[i.B]) < f64(r[i.C]))
				} else {
					r[i.A] = flag(f32(r[i.B]) < f32(r[i.C]))
				}
			case compile.LeF:
				if i.K == compile.Float64 {
					r[i.A] = flag(f64(r[i.B]) <= f64(r[i.C]))
				} else {
					r[i.A] = flag(f32(r[i.B]) <= f32(r[i.C]))
				}
			case compile.LtStr:
				r[i.A] = flag(m.text(r[i.B]) < m.text(r[i.C]))
			case compile.LeStr:
				r[i.A] = flag(m.text(r[i.B]) <= m.text(r[i.C]))
			case compile.CAdd, compile.CSub, compile.CMul, compile.CDiv, compile.CNeg:
				complexOp(i, r)
			case compile.CMake:
				r[i.A], r[i.A+1] = r[i.B], r[i.C]
			case compile.Real:
				r[i.A] = r[i.B]
			case compile.Imag:
				r[i.A] = r[i.B+1]
			case compile.Jump:
				if i.N <= pc && m.budget < 0 && !m.refill() {
					f.pc = i.N
					if m.turn(fn, i.N) {
						return atTurn
					}
					m.exhausted(g)
					return atFault
				}
				pc = i.N
				continue
			case compile.If:
				if r[i.A] != 0 {
					pc = i.N
					if m.budget < 0 && !m.refill() {
						f.pc = pc
						if m.turn(fn, pc) {
							return atTurn
						}
						if m.budget < -stepBudget || !m.met || m.sys.halted() {
							m.exhausted(g)
							return atFault
						}
					}
					continue
				}
			case compile.IfNot:
				if r[i.A] == 0 {
					pc = i.N
					if m.budget < 0 && !m.refill() {
						f.pc = pc
						if m.turn(fn, pc) {
							return atTurn
						}
						if m.budget < -stepBudget || !m.met || m.sys.halted() {
							m.exhausted(g)
							return atFault
						}
					}
					continue
				}
			case compile.Alloc:
				f.pc = pc
				t := fn.Types[i.N]
				r[i.A] = m.newObject(g, plainObj, t, t.Size)
			case compile.LoadW:
				p := r[i.B]
				if p>>32 == 0 {
					f.pc = pc
					m.throw(g, nilDereference)
					break frame
				}
				o := &m.objs[p>>32]
				if o.shared && (o.poisoned || !fn.Untracked && !m.setup) {
					f.pc = pc
					m.access(g, p, 1, false)
				}
				r[i.A] = m.mem[o.base+uint32(p)]
			case compile.Load:
				p := r[i.B]
				if p>>32 == 0 {
					f.pc = pc
					m.throw(g, nilDereference)
					break frame
				}
				o := &m.objs[p>>32]
				t := fn.Types[i.N]
				n := t.Size
				if o.shared && (o.poisoned || !fn.Untracked && !m.setup) {
					f.pc = pc
					m.access(g, p, n, false)
				}
				a := int(o.base + uint32(p))
				copy(r[i.A:], m.mem[a:a+n])
				if len(t.Locks) > 0 {
					m.copyLocks(g, p, t, r[i.A:])
				}
			case compile.StoreW:
				p := r[i.A]
				if p>>32 == 0 {
					f.pc = pc
					m.throw(g, nilDereference)
					break frame
				}
				o := &m.objs[p>>32]
				if o.shared && (o.poisoned || !fn.Untracked && !m.setup) {
					f.pc = pc
					m.access(g, p, 1, true)
				}
				m.set(o.base+uint32(p), r[i.B])
			case compile.Store:
				p := r[i.A]
				if p>>32 == 0 {
					f.pc = pc
					m.throw(g, nilDereference)
					break frame
				}
				t := fn.Types[i.N]
				if o := &m.objs[p>>32]; o.shared && (o.poisoned || !fn.Untracked && !m.setup) {
					f.pc = pc
					m.access(g, p, t.Size, true)
				}
				m.storeValue(p, t, r[i.B:])
			case compile.CheckNil:
				if r[i.A]>>32 == 0 {
					f.pc = pc
					m.throw(g, nilDereference)
					break frame
				}
			case compile.FieldAddr:
				if r[i.B]>>32 == 0 {
					f.pc = pc
					m.throw(g, nilDereference)
					break frame
				}
				r[i.A] = r[i.B] + uint64(i.N)
			case compile.SliceAddr:
				if r[i.C] >= r[i.B+1] {
					f.pc = pc
					m.throwIndex(g, r[i.C], i.K == 1, int(r[i.B+1]))
					break frame
				}
				r[i.A] = r[i.B] + r[i.C]*uint64(i.N)
			case compile.ElemAddr:
				if r[i.B]>>32 == 0 {
					f.pc = pc
					m.throw(g, nilDereference)
					break frame
				}
				t := fn.Types[i.N] // the array
				if r[i.C] >= uint64(t.Len) {
					f.pc = pc
					m.throwIndex(g, r[i.C], i.K == 1, int(t.Len))
					break frame
				}
				r[i.A] = r[i.B] + r[i.C]*uint64(t.Elem.Size)
			case compile.ElemOf:
				t := fn.Types[i.N]
				if r[i.C] >= uint64(t.Len) {
					f.pc = pc
					m.throwIndex(g, r[i.C], i.K == 1, int(t.Len))
					break frame
				}
				at := int(i.B) + int(r[i.C])*t.Elem.Size
				copy(r[i.A:], r[at:at+t.Elem.Size])
			case compile.StrIndex:
				s := m.text(r[i.B])
				if r[i.C] >= uint64(len(s)) {
					f.pc = pc
					m.throwIndex(g, r[i.C], i.K == 1, int(len(s)))
					break frame
				}
				r[i.A] = uint64(s[r[i.C]])
			case compile.LenStr:
				r[i.A] = uint64(len(m.text(r[i.B])))
			case compile.Convert:
				convert(compile.Kind(i.C), i.K, r[i.B:], r[i.A:])
			case compile.ToString:
				f.pc = pc
				r[i.A] = m.toString(g, fn.Types[i.N], r[i.B:])
			case compile.FromStr:
				f.pc = pc
				m.fromString(g, fn.Types[i.N], m.text(r[i.B]), r[i.A:])
			case compile.StrFrom:
				f.pc = pc
				if n := int(r[i.C]); n > 0 {
					if int64(uint32(r[i.B]))+int64(n) > int64(m.objs[r[i.B]>>32].size) {
						m.refuse(g, "makes a string longer than the variable with "+
							"unsafe.String")
						return atFault
					}
					m.read(g, r[i.B], n)
					r[i.A] = m.str(string(m.bytes([]uint64{r[i.B], uint64(n)})))
				} else {
					r[i.A] = 0
				}
			case compile.SliceOp:
				f.pc = pc
				if msg := m.slice(i, fn, r); msg != "" {
					m.throw(g, msg)
					break frame
				}
			case compile.ToPointer:
				p, ok := m.pointerAt(r[i.B])
				if !ok {
					f.pc = pc
					m.refuse(g, "converts a number that is not the address of a variable to "+
						"an unsafe.Pointer")
					return atFault
				}
				r[i.A] = p
			case compile.ToNumber:
				b, ok := m.numberOf(r[i.B])
				if !ok {
					f.pc = pc
					m.refuse(g, "takes the address of a part of something that is not a plain "+
						"variable, with unsafe.Pointer")
					return atFault
				}
				r[i.A] = b
			case compile.CheckCast:
				if p := r[i.A]; p>>32 == 0 && p != 0 {
					f.pc = pc
					m.refuse(g, "casts the type word of an interface to a *"+
						fn.Types[i.N].String()+" with unsafe.Pointer")
					return atFault
				} else if p != 0 {
					o := &m.objs[p>>32]
					if t := fn.Types[i.N]; t.Size > 0 &&
						(o.kind != plainObj || !o.typ.Holds(int(uint32(p)), int(o.size), t)) {
						f.pc = pc
						m.refuse(g, "casts a pointer to a *"+t.String()+
							" with unsafe.Pointer, but it points to something else")
						return atFault
					}
				}
			case compile.SliceOf:
				p, n := r[i.B], int64(r[i.C])
				t := fn.Types[i.N]
				switch o := &m.objs[p>>32]; {
				case n < 0:
					f.pc = pc
					m.throw(g, "unsafe.Slice: len out of range")
					break frame
				case p>>32 == 0 && n > 0:
					f.pc = pc
					m.throw(g, "unsafe.Slice: ptr is nil and len is not zero")
					break frame
				case n > maxLen || int64(uint32(p))+n*int64(t.Size) > int64(o.size):
					f.pc = pc
					m.refuse(g, "makes a slice longer than the variable with unsafe.Slice")
					return atFault
				}
				r[i.A], r[i.A+1], r[i.A+2] = p, uint64(n), uint64(n)
			case compile.ToArrPtr:
				if r[i.B+1] < uint64(i.N) {
					f.pc = pc
					m.throw(g, fmt.Sprintf("cannot convert slice with length %d to array or "+
						"pointer to array with length %d", r[i.B+1], i.N))
					break frame
				}
				r[i.A] = r[i.B]
			case compile.MakeIface:
				f.pc = pc
				t := fn.Types[i.N]
				w := m.boxed(g, t, r[i.B:])
				r[i.A], r[i.A+1] = uint64(t.ID), w
			case compile.Assert:
				if !m.assert(i, fn, r) {
					f.pc = pc
					m.throwAssert(g, fn.Types[i.C>>1], fn.Types[i.N], r[i.B])
					break frame
				}
			case compile.MakeFunc:
				f.pc = pc
				c := &fn.Calls[i.N]
				p := m.newObject(g, closureObj, nil, c.Words)
				m.objs[p>>32].fn = c.Func
				a := m.addr(p)
				m.mem[a] = uint64(c.Func.Index)
				for _, mv := range c.Args {
					copy(m.mem[a+uint32(mv.To):], r[mv.From:mv.From+mv.Size])
				}
				r[i.A] = p
			case compile.MakeSlice:
				f.pc = pc
				t := fn.Types[i.N]
				n, c := int64(r[i.B]), int64(r[i.C])
				most := int64(maxAlloc)
				if b := t.Elem.Bytes(); b > 0 {
					most /= int64(b)
				} else {
					most = math.MaxInt64
				}
				if n < 0 || n > most {
					m.throw(g, "makeslice: len out of range")
					break frame
				}
				if c < n || c > most {
					m.throw(g, "makeslice: cap out of range")
					break frame
				}
				if c > maxLen && t.Elem.Size > 0 {
					m.refuse(g, "makes a slice of more than 67 million elements")
					return atFault
				}
				p := m.newObject(g, plainObj, t.Elem, int(c)*t.Elem.Size)
				r[i.A], r[i.A+1], r[i.A+2] = p, uint64(n), uint64(c)
			case compile.MakeMap:
				f.pc = pc
				r[i.A] = m.newMap(g, fn.Types[i.N])
			case compile.MakeChan:
				f.pc = pc
				n := int64(r[i.B])
				if n < 0 || n > maxAlloc/8 {
					m.throwPlain(g, "makechan: size out of range")
					break frame
				}
				if n > maxLen {
					m.refuse(g, "makes a channel with room for more than 67 million values")
					return atFault
				}
				r[i.A] = m.newChan(g, fn.Types[i.N].Elem, int(n))
			case compile.MapGet:
				f.pc = pc
				t := fn.Types[i.N]
				mp := r[i.B]
				at := -1
				if mp != 0 {
					m.read(g, mp, 1)
					var bad *compile.Type
					if at, bad = m.find(mp, r[i.C:]); bad != nil {
						m.throwKey(g, mp, bad)
						break frame
					}
				} else if !t.Key.Plain {
					if _, bad := m.hash(t.Key, r[i.C:]); bad != nil {
						m.throwKey(g, 0, bad)
						break frame
					}
				}
				n := t.Elem.Size
				if at >= 0 {
					copy(r[i.A:int(i.A)+n], m.mem[at+1+t.Key.Size:])
				} else {
					clear(r[i.A : int(i.A)+n])
				}
				if i.K == 1 {
					r[int(i.A)+n] = flag(at >= 0)
				}
			case compile.MapSet:
				f.pc = pc
				mp := r[i.A]
				if mp == 0 {
					m.throwPlain(g, "assignment to entry in nil map")
					break frame
				}
				m.write(g, mp, 1)
				if bad := m.mapSet(g, mp, r[i.B:], r[i.C:]); bad != nil {
					m.throw(g, "hash of unhashable type "+typeString(bad))
					break frame
				}
			case compile.MapDelete:
				f.pc = pc
				if mp := r[i.A]; mp != 0 {
					m.write(g, mp, 1)
					if bad := m.mapDelete(mp, r[i.B:]); bad != nil {
						m.throwKey(g, mp, bad)
						break frame
					}
				} else if t := fn.Types[i.N]; !t.Key.Plain {
					if _, bad := m.hash(t.Key, r[i.B:]); bad != nil {
						m.throwKey(g, 0, bad)
						break frame
					}
				}
			case compile.MapClear:
				f.pc = pc
				if mp := r[i.A]; mp != 0 {
					m.write(g, mp, 1)
					m.mapClear(mp)
				}
			case compile.Clear:
				f.pc = pc
				if n := int(r[i.A+1]) * fn.Types[i.N].Elem.Size; n > 0 {
					m.write(g, r[i.A], n)
					a := m.addr(r[i.A])
					for k := range uint32(n) {
						m.set(a+k, 0)
						m.goesOn(int(k))
					}
				}
			case compile.RangeOf:
				r[i.A], r[i.A+1] = r[i.B], 0
				if fn.Types[i.N].Kind == compile.Map && r[i.B] == 0 {
					r[i.A+1] = 0
				}
			case compile.RangeAny:
				f.pc = pc
				r[i.A], r[i.A+1] = m.rangeAny(g, fn.Types[i.N], r[i.B])
			case compile.NextMap:
				f.pc = pc
				t := fn.Types[i.N]
				var e []uint64
				if mp := r[i.B]; mp != 0 {
					m.read(g, mp, 1)
					if m.mem[m.addr(mp)+mapLen] > 1 && !fn.Hidden && !m.sys.ranged.Load() {
						m.sys.ranged.Store(true)
					}
					e = m.nextEntry(mp, r[i.B+1])
				}
				if e == nil {
					r[i.A] = 0
				} else {
					r[i.B+1] = e[0]
					r[i.A] = 1
					copy(r[i.A+1:], e[1:1+t.Key.Size+t.Elem.Size])
				}
			case compile.NextStr:
				s := m.text(r[i.B])
				if at := r[i.B+1]; at >= uint64(len(s)) {
					r[i.A] = 0
				} else {
					c, n := utf8.DecodeRuneInString(s[at:])
					r[i.A], r[i.A+1], r[i.A+2] = 1, at, uint64(c)
					r[i.B+1] = at + uint64(n)
				}
			case compile.LenMap:
				f.pc = pc
				if mp := r[i.B]; mp != 0 {
					m.read(g, mp, 1)
					r[i.A] = m.mem[m.addr(mp)+mapLen]
				} else {
					r[i.A] = 0
				}
			case compile.CapChan:
				if c := r[i.B]; c != 0 && m.mem[m.addr(c)+chanTimer] == 0 {
					r[i.A] = m.mem[m.addr(c)+chanCap]
				} else {
					r[i.A] = 0
				}
			case compile.Append, compile.AppendStr:
				f.pc = pc
				if i.Op == compile.AppendStr {
					m.appendString(g, fn.Types[i.N], r[i.A:i.A+3], r[i.B:i.B+3], m.text(r[i.C]))
				} else {
					if n := r[i.B+1] + r[i.C+1]; int64(n) < 0 {
						m.throw(g, "growslice: len out of range")
						break frame
					}
					m.append(g, fn.Types[i.N], r[i.A:i.A+3], r[i.B:i.B+3], r[i.C:i.C+3])
				}
			case compile.Copy:
				f.pc = pc
				t := fn.Types[i.N].Elem
				n := int(min(r[i.B+1], r[i.C+1]))
				m.copyWords(g, r[i.B], r[i.C], t, n)
				r[i.A] = uint64(n)
			case compile.CopyStr:
				f.pc = pc
				s := m.text(r[i.C])
				n := min(int(r[i.B+1]), len(s))
				if n > 0 {
					m.write(g, r[i.B], n)
					a := m.addr(r[i.B])
					for k := range n {
						m.set(a+uint32(k), uint64(s[k]))
					}
				}
				r[i.A] = uint64(n)
			case compile.MinMax:
				m.minMax(i, fn, r)
			case compile.Stack:
				f.pc = pc
				r[i.A] = m.deferCell(g, f, r)
			case compile.Recover:
				f.pc = pc
				r[i.A], r[i.A+1] = m.recoverPanic(g)
			case compile.CallF:
				c := &fn.Calls[i.N]
				f.pc = pc
				if len(g.frames) > maxFrames {
					m.fatal(g, "stack overflow")
					return atFault
				}
				x := m.push(g, c.Func, i.A)
				r = g.stack[g.frames[len(g.frames)-2].base:]
				for _, mv := range c.Args {
					copy(x[mv.To:], r[mv.From:mv.From+mv.Size])
				}
				break frame
			case compile.CallV, compile.CallM:
				c := &fn.Calls[i.N]
				f.pc = pc
				if len(g.frames) > maxFrames {
					m.fatal(g, "stack overflow")
					return atFault
				}
				var words [24]uint64
				args := words[:0]
				for _, mv := range c.Args {
					args = append(args, r[mv.From:mv.From+mv.Size]...)
				}
				if !m.callValue(g, compile.Kind(i.Op-compile.CallF), c, r[c.Value:], args, i.A) {
					break frame
				}
				break frame
			case compile.Return:
				if m.ret(g, fn.Moves[i.N]) {
					if len(g.frames) == 0 {
						return atEnd
					}
				} else {
					return atFault
				}
				break frame
			case compile.RunDefers:
				f.pc = pc
				f.mode = returning
				if !m.unwind(g) {
					return m.endOf(g)
				}
				break frame
			case compile.Defer:
				f.pc = pc
				if !m.deferCall(g, f, i, r) {
					break frame
				}
			case compile.Throw:
				f.pc = pc
				m.throw(g, fn.Texts[i.N])
				break frame
			case compile.Panic:
				f.pc = pc
				m.panic(g, r[i.A], r[i.A+1])
				break frame
			case compile.Pause:
				if (m.objs[r[i.A]>>32].shared || i.B >= 0 && m.objs[r[i.B]>>32].shared) &&
					!m.setup {
					f.pc = pc + 1
					return atTurn
				}
			case compile.Native:
				f.pc = pc
				native := natives[i.N].run
				native(m, g, r)
				if g.status != alive {
					return m.endOf(g)
				}
				if len(g.frames) == 0 {
					return atEnd
				}
				if t := g.top(); t.fn != fn || t.pc != pc {
					break frame // it has called, panicked or left
				}
				r = g.regs()
				f = g.top()
			case compile.Refuse:
				f.pc = pc
				m.refuse(g, fn.Texts[i.N])
				return atFault
			default:
				if i.Op.Synchronises() {
					f.pc = pc
					return atSync
				}
				m.fault("%s: operation %d", fn.Name, i.Op)
			}
			pc++
		}
		if g.status != alive {
			return m.endOf(g)
		}
		if len(g.frames) == 0 {
			return atEnd
		}
	}
}

// endOf says why a goroutine that cannot continue stops.
func (m *Machine) endOf(g *goroutine) stop {
	if g.status == failed {
		return atFault
	}
	return atEnd
}

const (
	maxFrames = 1 << 16
	maxLen    = 1 << 26
	maxWords  = maxLen + maxLen/4 // of all memory of an execution, with 32 bytes for each
	maxAlloc  = 1 << 48           // bytes of what Go allocates at most on amd64

	nilDereference = "invalid memory address or nil pointer dereference"
)

func complexOp(i *compile.Instr, r []uint64) {
	load := func(at int32) complex128 {
		if i.K == compile.Complex64 {
			return complex(float64(f32(r[at])), float64(f32(r[at+1])))
		}
		return complex(f64(r[at]), f64(r[at+1]))
	}
	a := load(i.B)
	var c complex128
	if i.Op == compile.CNeg {
		c = -a
	} else {
		b := load(i.C)
		if i.K == compile.Complex64 && i.Op != compile.CDiv {
			x, y := complex64(a), complex64(b)
			switch i.Op {
			case compile.CAdd:
				x += y
			case compile.CSub:
				x -= y
			case compile.CMul:
				x *= y
			}
			c = complex128(x)
		} else {
			switch i.Op {
			case compile.CAdd:
				c = a + b
			case compile.CSub:
				c = a - b
			case compile.CMul:
				c = a * b
			case compile.CDiv:
				c = a / b
			}
		}
	}
	if i.K == compile.Complex64 {
		r[i.A], r[i.A+1] = w32(float32(real(c))), w32(float32(imag(c)))
	} else {
		r[i.A], r[i.A+1] = w64(real(c)), w64(imag(c))
	}
}

// convert converts a number.
func convert(from, to compile.Kind, x, y []uint64) {
	if from == compile.Complex64 || from == compile.Complex128 {
		a, b := x[0], x[1]
		if from != to {
			if to == compile.Complex64 {
				a, b = w32(float32(f64(a))), w32(float32(f64(b)))
			} else {
				a, b = w64(float64(f32(a))), w64(float64(f32(b)))
			}
		}
		y[0], y[1] = a, b
		return
	}
	v := x[0]
	switch {
	case from.Float():
		f := f64(v)
		if from == compile.Float32 {
			f = float64(f32(v))
		}
		switch {
		case to == compile.Float64:
			y[0] = w64(f)
		case to == compile.Float32:
			y[0] = w32(float32(f))
		case to == compile.Uint64 || to == compile.Uintptr:
			y[0] = uint64(f)
		case to == compile.Uint32:
			y[0] = uint64(uint32(f))
		case to.Signed():
			y[0] = norm(to, uint64(int64(f)))
		default:
			y[0] = norm(to, uint64(int64(f)))
		}
	case to == compile.Float64:
		if from.Signed() {
			y[0] = w64(float64(int64(v)))
		} else {
			y[0] = w64(float64(v))
		}
	case to == compile.Float32:
		if from.Signed() {
			y[0] = w32(float32(int64(v)))
		} else {
			y[0] = w32(float32(v))
		}
	default:
		y[0] = norm(to, v)
	}
}

func (m *Machine) toString(g *goroutine, t *compile.Type, v []uint64) uint64 {
	if t.Kind != compile.Slice {
		c := int64(v[0])
		if !t.Kind.Signed() && v[0] > utf8.MaxRune || c > utf8.MaxRune || c < 0 {
			c = utf8.RuneError
		}
		return m.str(string(rune(c)))
	}
	n := int(v[1])
	if n == 0 {
		return 0
	}
	m.read(g, v[0], n)
	if t.Elem.Kind == compile.Uint8 {
		return m.str(string(m.bytes(v)))
	}
	a := m.addr(v[0])
	rs := make([]rune, n)
	for i := range rs {
		rs[i] = rune(m.mem[int(a)+i])
	}
	return m.str(string(rs))
}

func (m *Machine) fromString(g *goroutine, t *compile.Type, s string, to []uint64) {
	if t.Elem.Kind == compile.Uint8 {
		p := m.newObject(g, plainObj, t.Elem, len(s))
		a := m.addr(p)
		for i := range len(s) {
			m.mem[int(a)+i] = uint64(s[i])
		}
		to[0], to[1], to[2] = p, uint64(len(s)), uint64(len(s))
		return
	}
	rs := []rune(s)
	p := m.newObject(g, plainObj, t.Elem, len(rs))
	a := m.addr(p)
	for i, c := range rs {
		m.mem[int(a)+i] = uint64(c)
	}
	to[0], to[1], to[2] = p, uint64(len(rs)), uint64(len(rs))
}

// slice slices; it returns the message of a panic.
func (m *Machine) slice(i *compile.Instr, fn *compile.Func, r []uint64) string {
	t := fn.Types[i.C]
	b := fn.Moves[i.N]
	get := func(k int, or uint64) uint64 {
		if b[k].From < 0 {
			return or
		}
		return r[b[k].From]
	}
	// out is the message for the bound k of the value x; negative is the one for a value below
	// 0.
	out := func(k int, x uint64, negative, format string, args ...any) string {
		const begin = "slice bounds out of range "
		if int64(x) < 0 && b[k].To == 0 {
			return fmt.Sprintf(begin+negative, int64(x))
		}
		return fmt.Sprintf(begin+format, append([]any{x}, args...)...)
	}
	if t.Kind == compile.String {
		s := m.text(r[i.B])
		low := get(0, 0)
		high := get(1, uint64(len(s)))
		if high > uint64(len(s)) {
			return out(1, high, "[:%d]", "[:%d] with length %d", len(s))
		}
		if low > high {
			return out(0, low, "[%d:]", "[%d:%d]", high)
		}
		if low == 0 && high == uint64(len(s)) {
			r[i.A] = r[i.B]
		} else {
			r[i.A] = m.str(s[low:high])
		}
		return ""
	}
	var p, length, capacity uint64
	var size int
	what := "capacity"
	if t.Kind == compile.Slice {
		p, length, capacity, size = r[i.B], r[i.B+1], r[i.B+2], t.Elem.Size
	} else { // a pointer to an array
		if r[i.B]>>32 == 0 {
			return nilDereference
		}
		p, size = r[i.B], t.Elem.Elem.Size
		length = uint64(t.Elem.Len)
		capacity = length
		what = "length"
	}
	low := get(0, 0)
	high := get(1, length)
	top := get(2, capacity)
	three := b[2].From >= 0
	switch {
	case top > capacity:
		return out(2, top, "[::%d]", "[::%d] with %s %d", what, capacity)
	case three && high > top:
		return out(1, high, "[:%d:]", "[:%d:%d]", top)
	case high > top:
		return out(1, high, "[:%d]", "[:%d] with %s %d", what, capacity)
	case low > high && three:
		return out(0, low, "[%d::]", "[%d:%d:]", high)
	case low > high:
		return out(0, low, "[%d:]", "[%d:%d]", high)
	}
	if top > low {
		p += low * uint64(size)
	}
	r[i.A], r[i.A+1], r[i.A+2] = p, high-low, top-low
	return ""
}

// assert performs a type assertion. It returns false if that must panic.
func (m *Machine) assert(i *compile.Instr, fn *compile.Func, r []uint64) bool {
	t := fn.Types[i.N]
	id, w := r[i.B], r[i.B+1]
	ok := false
	if t.Kind == compile.Interface {
		ok = id != 0 && m.p.Implements(m.p.TypeByID(id), t)
		if ok {
			r[i.A], r[i.A+1] = id, w
		}
	} else {
		ok = id == uint64(t.ID)
		if ok {
			copy(r[i.A:], m.unboxed(t, &w))
		}
	}
	if i.C&1 == 0 {
		return ok
	}
	if !ok {
		clear(r[i.A : int(i.A)+t.Size])
	}
	r[int(i.A)+t.Size] = flag(ok)
	return true
}

// append appends the elements of y to x.
func (m *Machine) append(g *goroutine, t *compile.Type, to, x, y []uint64) {
	n, k := int(x[1]), int(y[1])
	src := y[0]
	p, c := m.room(g, t, x, k)
	m.copyWords(g, p+uint64(n*t.Elem.Size), src, t.Elem, k)
	to[0], to[1], to[2] = p, uint64(n+k), uint64(c)
}

func (m *Machine) appendString(g *goroutine, t *compile.Type, to, x []uint64, s string) {
	n, k := int(x[1]), len(s)
	p, c := m.room(g, t, x, k)
	if k > 0 {
		m.write(g, p+uint64(n), k)
		a := m.addr(p) + uint32(n)
		for i := range k {
			m.set(a+uint32(i), uint64(s[i]))
		}
	}
	to[0], to[1], to[2] = p, uint64(n+k), uint64(c)
}

// room returns a slice's pointer and capacity such that k more elements fit.
func (m *Machine) room(g *goroutine, t *compile.Type, x []uint64, k int) (p uint64, c int) {
	n, c := int(x[1]), int(x[2])
	if n+k <= c {
		return x[0], c
	}
	want := growCap(c, n+k, elemBytes(t.Elem))
	p = m.newObject(g, plainObj, t.Elem, want*t.Elem.Size)
	if n > 0 && t.Elem.Size > 0 {
		m.read(g, x[0], n*t.Elem.Size)
		m.readLocks(g, x[0], t.Elem, n)
		from := m.addr(x[0])
		to, w := m.addr(p), uint32(n*t.Elem.Size)
		for i := uint32(0); i < w; i += chunk {
			k := min(w-i, chunk)
			copy(m.mem[to+i:to+i+k], m.mem[from+i:from+i+k])
			m.goesOn(int(i + k - 1))
		}
		m.ownLocks(p, t.Elem, n)
	}
	return p, want
}

// copyWords copies n elements, which may overlap.
func (m *Machine) copyWords(g *goroutine, to, from uint64, t *compile.Type, n int) {
	w := n * t.Size
	if w == 0 {
		return
	}
	m.read(g, from, w)
	m.write(g, to, w)
	m.readLocks(g, from, t, n)
	a, b := m.addr(to), m.addr(from)
	m.budget -= int64(w / 16)
	if a >= m.fresh && w < chunk {
		copy(m.mem[a:int(a)+w], m.mem[b:int(b)+w])
	} else if a <= b {
		for i := range uint32(w) {
			m.set(a+i, m.mem[b+i])
			m.goesOn(int(i))
		}
	} else {
		for i := uint32(w); i > 0; i-- {
			m.set(a+i-1, m.mem[b+i-1])
			m.goesOn(int(i))
		}
	}
	m.ownLocks(to, t, n)
	if len(t.Refs) > 0 && m.objs[to>>32].shared {
		for i := range n {
			at := int(a) + i*t.Size
			m.publishValue(t, m.mem[at:at+t.Size])
		}
	}
}

func (m *Machine) minMax(i *compile.Instr, fn *compile.Func, r []uint64) {
	moves := fn.Moves[i.N]
	best := r[moves[0].From]
	for _, mv := range moves[1:] {
		v := r[mv.From]
		var less bool
		switch {
		case i.K == compile.String:
			less = m.text(v) < m.text(best)
		case i.K == compile.Float64:
			if i.C == 1 {
				best = w64(max(f64(v), f64(best)))
			} else {
				best = w64(min(f64(v), f64(best)))
			}
			continue
		case i.K == compile.Float32:
			if i.C == 1 {
				best = w32(max(f32(v), f32(best)))
			} else {
				best = w32(min(f32(v), f32(best)))
			}
			continue
		case i.K.Signed():
			less = int64(v) < int64(best)
		default:
			less = v < best
		}
		if less != (i.C == 1) && v != best {
			best = v
		}
	}
	r[i.A] = best
}
