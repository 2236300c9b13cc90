package code

import (
	"cpor/frontend/code/wasm"
	"cpor/testkit/sabotage"
)

// Field is some bits of a word of a region of memory. What they mean has a sign or none.
type Field struct {
	Word        int
	Shift, Bits int
	Signed      bool
}

// At is the place of a field in bits.
func (d Field) At() int { return 64*d.Word + d.Shift }

// instructions are what is needed for values of one type.
type instructions struct {
	and, or, shl, shrS, shrU wasm.Op
	// Whole bytes: without a sign, with one, stored.
	load, loadS, store map[int]wasm.Access
	width              int
}

var of = map[wasm.Type]*instructions{
	wasm.I32: {
		wasm.I32And, wasm.I32Or, wasm.I32Shl, wasm.I32ShrS, wasm.I32ShrU,
		map[int]wasm.Access{8: wasm.I32Load8U, 16: wasm.I32Load16U, 32: wasm.I32Load},
		map[int]wasm.Access{8: wasm.I32Load8S, 16: wasm.I32Load16S, 32: wasm.I32Load},
		map[int]wasm.Access{8: wasm.I32Store8, 16: wasm.I32Store16, 32: wasm.I32Store},
		32,
	},
	wasm.I64: {
		wasm.I64And, wasm.I64Or, wasm.I64Shl, wasm.I64ShrS, wasm.I64ShrU,
		map[int]wasm.Access{8: wasm.I64Load8U, 16: wasm.I64Load16U, 32: wasm.I64Load32U,
			64: wasm.I64Load},
		map[int]wasm.Access{8: wasm.I64Load8S, 16: wasm.I64Load16S, 32: wasm.I64Load32S,
			64: wasm.I64Load},
		map[int]wasm.Access{8: wasm.I64Store8, 16: wasm.I64Store16, 32: wasm.I64Store32,
			64: wasm.I64Store},
		64,
	},
}

// Values are the values of a language, which are all of one type, in a function that is being
// made.
type Values struct {
	*wasm.Func
	Type wasm.Type
}

func (x Values) ops() *instructions { return of[x.Type] }

// Const pushes a number.
func (x Values) Const(v int64) {
	if x.Type == wasm.I32 {
		x.I32(int32(v))
	} else {
		x.I64(v)
	}
}

// Narrow gives the value on the stack so many bits, with or without a sign.
func (x Values) Narrow(bits int, signed bool) {
	o := x.ops()
	switch {
	case bits >= o.width:
	case sabotage.Is("code/element"):
	case signed && !sabotage.Is("code/sign"):
		x.Const(int64(o.width - bits))
		x.Op(o.shl)
		x.Const(int64(o.width - bits))
		x.Op(o.shrS)
	default:
		x.Const(1<<bits - 1)
		x.Op(o.and)
	}
}

// whole returns the instruction that loads whole bytes.
func (x Values) whole(bits int, signed bool) (a wasm.Access, ok bool) {
	list := x.ops().load
	if signed && !sabotage.Is("code/sign") {
		list = x.ops().loadS
	}
	a, ok = list[bits]
	return a, ok
}

// storeBytes stores whole bytes at an address on the stack plus an offset.
func (x Values) storeBytes(bits, at int) {
	if sabotage.Is("code/width") {
		bits = 8
	}
	x.Mem(x.ops().store[bits], at)
}

// Load pushes a field of the region at an address.
func (x Values) Load(base wasm.Local, d Field) {
	o := x.ops()
	x.Get(base)
	at, shift := State+d.At()/8, d.Shift%8
	if a, ok := x.whole(d.Bits, d.Signed); ok && shift == 0 {
		x.Mem(a, at)
		return
	}
	if shift+d.Bits <= 8 {
		x.Mem(o.load[8], at)
		if shift > 0 {
			x.Const(int64(shift))
			x.Op(o.shrU)
		}
	} else {
		x.Mem(wasm.I64Load, State+8*d.Word)
		if d.Shift > 0 {
			x.I64(int64(d.Shift))
			x.Op(wasm.I64ShrU)
		}
		x.wrap()
	}
	x.Narrow(d.Bits, d.Signed)
}

// wrap makes a value of the i64 on the stack.
func (x Values) wrap() {
	if x.Type == wasm.I32 {
		x.Op(wasm.I32WrapI64)
	}
}

// extend makes an i64 of the value on the stack.
func (x Values) extend() {
	if x.Type == wasm.I32 {
		x.Op(wasm.I64ExtendI32U)
	}
}

// Store stores a local in a field of the region at an address.
func (x Values) Store(base wasm.Local, d Field, v wasm.Local) {
	o := x.ops()
	at, shift := State+d.At()/8, d.Shift%8
	x.Get(base)
	if _, ok := o.store[d.Bits]; ok && shift == 0 {
		x.Get(v)
		x.storeBytes(d.Bits, at)
		return
	}
	x.Get(base)
	if shift+d.Bits <= 8 {
		m := int64(1)<<d.Bits - 1
		x.Mem(o.load[8], at)
		if sabotage.Is("code/mask") {
			m = 0xff >> shift
		}
		x.Const(^(m << shift))
		x.Op(o.and)
		x.Get(v)
		x.Const(m)
		x.Op(o.and)
		x.Const(int64(shift))
		x.Op(o.shl, o.or)
		x.Mem(o.store[8], at)
		return
	}
	m := int64(uint64(1)<<d.Bits-1) << d.Shift
	x.Mem(wasm.I64Load, State+8*d.Word)
	x.I64(^m)
	x.Op(wasm.I64And)
	x.Get(v)
	x.extend()
	x.I64(int64(d.Shift))
	x.Op(wasm.I64Shl)
	x.I64(m)
	x.Op(wasm.I64And, wasm.I64Or)
	x.Mem(wasm.I64Store, State+8*d.Word)
}

// Element is a field that is known at run time only: one of a list of fields which have all one
// type, by its number there.
type Element struct {
	base, k wasm.Local
	bits    int
	signed  bool
	// The place in bits is at + number*by; if table is not 0, it stands there.
	at, by int
	table  int
	// plus is added to that if it is not nil.
	plus *wasm.Local
	// All fields are in one word, which is word, if single is set.
	single bool
	word   int
}

// Word returns the word of the element, and whether it is known.
func (e *Element) Word() (word int, ok bool) { return e.word, e.single }

// Plus is an element whose place is so many bits farther, which are in a local of type i32.
func (e Element) Plus(bits wasm.Local) Element {
	e.plus = &bits
	return e
}

// Element describes the fields of a list with some numbers, which are sorted, in the region at
// an address. k is a local of type i32 with the number. table returns the address of a table with
// the places of all fields of the list in bits. ok is false if the fields are of several types.
func (x Values) Element(base, k wasm.Local, numbers []int, field func(i int) Field,
	table func() int) (e Element, ok bool) {
	first := field(numbers[0])
	e = Element{base: base, k: k, bits: first.Bits, signed: first.Signed}
	affine := true
	e.word, e.single = first.Word, true
	if len(numbers) > 1 {
		n := numbers[1] - numbers[0]
		d := field(numbers[1]).At() - first.At()
		e.by = d / n
		affine = e.by*n == d
	}
	e.at = first.At() - numbers[0]*e.by
	for _, i := range numbers {
		f := field(i)
		if f.Bits != e.bits || f.Signed != e.signed {
			return e, false
		}
		affine = affine && f.At() == e.at+i*e.by
		e.single = e.single && f.Word == e.word
	}
	if !affine {
		e.table = table()
	}
	return e, true
}

// bytes reports whether the element is whole bytes at a place of whole bytes.
func (x Values) bytes(e *Element) bool {
	_, ok := x.ops().store[e.bits]
	return ok && e.table == 0 && e.plus == nil && e.at%8 == 0 && e.by%8 == 0
}

// byteAddress pushes the address, as that of a state, of the first byte of an element of whole
// bytes.
func (x Values) byteAddress(e *Element) {
	x.Get(e.base)
	x.Get(e.k)
	if e.by != 8 {
		x.I32(int32(e.by / 8))
		x.Op(wasm.I32Mul)
	}
	x.Op(wasm.I32Add)
	if e.at != 0 {
		x.I32(int32(e.at / 8))
		x.Op(wasm.I32Add)
	}
}

// place pushes where an element is in bits. Only its last six bits count if it is in a single word.
func (x Values) place(e *Element) {
	x.Get(e.k)
	if e.table == 0 {
		if e.by != 1 {
			x.I32(int32(e.by))
			x.Op(wasm.I32Mul)
		}
		at := e.at
		if e.single {
			at &= 63
		}
		if at != 0 {
			x.I32(int32(at))
			x.Op(wasm.I32Add)
		}
	} else {
		x.I32(2)
		x.Op(wasm.I32Shl)
		x.Mem(wasm.I32Load, e.table)
	}
	if e.plus != nil {
		x.Get(*e.plus)
		x.Op(wasm.I32Add)
	}
}

// wordAddress returns a local with an address from which the element's word is at an offset, and
// sets shift to its place there, of which six bits count. word is a local to use.
func (x Values) wordAddress(e *Element, word, shift wasm.Local) (address wasm.Local, offset int) {
	x.place(e)
	x.Set(shift)
	if e.single {
		return e.base, State + 8*e.word
	}
	x.Get(shift)
	x.I32(6)
	x.Op(wasm.I32ShrU)
	x.I32(3)
	x.Op(wasm.I32Shl)
	x.Get(e.base)
	x.Op(wasm.I32Add)
	x.Set(word)
	return word, State
}

// LoadElement pushes an element. word and shift are locals of type i32 to use.
func (x Values) LoadElement(e *Element, word, shift wasm.Local) {
	if x.bytes(e) {
		a, _ := x.whole(e.bits, e.signed)
		x.byteAddress(e)
		x.Mem(a, State)
		return
	}
	address, offset := x.wordAddress(e, word, shift)
	x.Get(address)
	x.Mem(wasm.I64Load, offset)
	x.Get(shift)
	x.Op(wasm.I64ExtendI32U, wasm.I64ShrU)
	x.wrap()
	x.Narrow(e.bits, e.signed)
}

// StoreElement stores a local in an element. Unless [Element.Word] is known, it sets word to an
// address within its word, as that of a state; shift is a local to use.
func (x Values) StoreElement(e *Element, v, word, shift wasm.Local) {
	if x.bytes(e) {
		x.byteAddress(e)
		x.Tee(word)
		x.Get(v)
		x.storeBytes(e.bits, State)
		return
	}
	address, offset := x.wordAddress(e, word, shift)
	mask := int64(uint64(1)<<e.bits - 1)
	x.Get(address)
	x.Get(address)
	x.Mem(wasm.I64Load, offset)
	x.I64(mask)
	x.Get(shift)
	x.Op(wasm.I64ExtendI32U, wasm.I64Shl)
	x.I64(-1)
	x.Op(wasm.I64Xor, wasm.I64And)
	x.Get(v)
	x.extend()
	x.I64(mask)
	x.Op(wasm.I64And)
	x.Get(shift)
	x.Op(wasm.I64ExtendI32U, wasm.I64Shl, wasm.I64Or)
	x.Mem(wasm.I64Store, offset)
}

// WordBit pushes the bit of the word that an address is in, of the state at another address, as
// in [system.Successor].Changed.
func (x Values) WordBit(word, state wasm.Local) {
	x.I64(1)
	x.Get(word)
	x.Get(state)
	x.Op(wasm.I32Sub)
	x.I32(3)
	x.Op(wasm.I32ShrU, wasm.I64ExtendI32U, wasm.I64Shl)
}

// MoveFields gives each field to[i] of the region at an address what from[i] had, for all i at
// once. They have the same number of bits. Fields that move equally far between the same words
// move together.
func (x Values) MoveFields(base wasm.Local, from, to []Field) {
	type move struct{ from, to, left int }
	masks := map[move]uint64{} // of the bits that arrive
	old := map[int]wasm.Local{}
	kept := map[int]uint64{}
	var moves []move
	var words []int
	for i := range to {
		m := move{from[i].Word, to[i].Word, to[i].Shift - from[i].Shift}
		if masks[m] == 0 {
			moves = append(moves, m)
		}
		for _, w := range []int{m.from, m.to} {
			if _, ok := old[w]; !ok {
				old[w], kept[w] = x.Local(wasm.I64), ^uint64(0)
				words = append(words, w)
			}
		}
		mask := (uint64(2)<<(to[i].Bits-1) - 1) << to[i].Shift
		masks[m] |= mask
		kept[m.to] &^= mask
	}
	for _, w := range words {
		x.Get(base)
		x.Mem(wasm.I64Load, State+8*w)
		x.Set(old[w])
	}
	for _, w := range words {
		if kept[w] == ^uint64(0) {
			continue // nothing arrives
		}
		x.Get(base)
		x.Get(old[w])
		x.I64(int64(kept[w]))
		x.Op(wasm.I64And)
		for _, m := range moves {
			if m.to != w {
				continue
			}
			x.Get(old[m.from])
			if m.left > 0 {
				x.I64(int64(m.left))
				x.Op(wasm.I64Shl)
			} else if m.left < 0 {
				x.I64(int64(-m.left))
				x.Op(wasm.I64ShrU)
			}
			x.I64(int64(masks[m]))
			x.Op(wasm.I64And, wasm.I64Or)
		}
		x.Mem(wasm.I64Store, State+8*w)
	}
}
