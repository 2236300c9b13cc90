// Package wasm writes WebAssembly modules: the binary format of the core specification 2.0,
// as much of it as a compiler of models needs.
//
//	m := wasm.NewModule(1) // pages of memory
//	f := m.Func([]wasm.Type{wasm.I32}, []wasm.Type{wasm.I32})
//	f.Get(0)
//	f.I32(1)
//	f.Op(wasm.I32Add)
//	m.Export("successor", f)
//	binary := m.Encode()
//
// It checks nothing: whoever compiles the module validates it. The encoder is our own
// because there is no library for it alone that is kept up. wazero's is internal and for its tests;
// tetratelabs/wabin had its last commit in March 2023, and takes function bodies as bytes, which
// is what this package is for; onflow/cadence (v0.42) has one with instructions, as a part of
// that language's implementation.
package wasm

import "encoding/binary"

// Type is the type of a value.
type Type byte

// The types.
const (
	I32 Type = 0x7f
	I64 Type = 0x7e
)

// Op is an instruction without operands in the code.
type Op byte

// The instructions, named as in the specification.
const (
	Unreachable Op = 0x00
	Return      Op = 0x0f
	Drop        Op = 0x1a
	Select      Op = 0x1b

	I32Eqz    Op = 0x45
	I32Eq     Op = 0x46
	I32Ne     Op = 0x47
	I32LtS    Op = 0x48
	I32LtU    Op = 0x49
	I32GtS    Op = 0x4a
	I32GtU    Op = 0x4b
	I32LeS    Op = 0x4c
	I32LeU    Op = 0x4d
	I32GeS    Op = 0x4e
	I32GeU    Op = 0x4f
	I64Eqz    Op = 0x50
	I64Eq     Op = 0x51
	I64Ne     Op = 0x52
	I64LtS    Op = 0x53
	I64LtU    Op = 0x54
	I64GtS    Op = 0x55
	I64GtU    Op = 0x56
	I64LeS    Op = 0x57
	I64LeU    Op = 0x58
	I64GeS    Op = 0x59
	I64GeU    Op = 0x5a
	I32Add    Op = 0x6a
	I32Sub    Op = 0x6b
	I32Mul    Op = 0x6c
	I32DivS   Op = 0x6d
	I32DivU   Op = 0x6e
	I32RemS   Op = 0x6f
	I32RemU   Op = 0x70
	I32And    Op = 0x71
	I32Or     Op = 0x72
	I32Xor    Op = 0x73
	I32Shl    Op = 0x74
	I32ShrS   Op = 0x75
	I32ShrU   Op = 0x76
	I64Ctz    Op = 0x7a
	I64Popcnt Op = 0x7b
	I64Add    Op = 0x7c
	I64Sub    Op = 0x7d
	I64Mul    Op = 0x7e
	I64DivS   Op = 0x7f
	I64DivU   Op = 0x80
	I64RemS   Op = 0x81
	I64RemU   Op = 0x82
	I64And    Op = 0x83
	I64Or     Op = 0x84
	I64Xor    Op = 0x85
	I64Shl    Op = 0x86
	I64ShrS   Op = 0x87
	I64ShrU   Op = 0x88

	I32WrapI64    Op = 0xa7
	I64ExtendI32S Op = 0xac
	I64ExtendI32U Op = 0xad
)

// Access is an instruction that loads or stores.
type Access byte

// The accesses, named as in the specification.
const (
	I32Load    Access = 0x28
	I64Load    Access = 0x29
	I32Load8S  Access = 0x2c
	I32Load8U  Access = 0x2d
	I32Load16S Access = 0x2e
	I32Load16U Access = 0x2f
	I64Load8S  Access = 0x30
	I64Load8U  Access = 0x31
	I64Load16S Access = 0x32
	I64Load16U Access = 0x33
	I64Load32S Access = 0x34
	I64Load32U Access = 0x35
	I32Store   Access = 0x36
	I64Store   Access = 0x37
	I32Store8  Access = 0x3a
	I32Store16 Access = 0x3b
	I64Store8  Access = 0x3c
	I64Store16 Access = 0x3d
	I64Store32 Access = 0x3e
)

// Local is a parameter or a local variable of a function.
type Local uint32

// Global is a variable of a module, of type i32.
type Global uint32

// Label is what a branch goes to: the end of a block or the beginning of a loop.
type Label int

// Sig is the number of a function type.
type Sig uint32

// Module is a module that is being made. It has one memory, exported as "memory", and one
// table of functions.
type Module struct {
	pages   int
	types   [][]byte
	funcs   []*Func
	table   []*Func
	globals []int32
	data    []segment
	exports []export
}

type segment struct {
	at    int
	bytes []byte
}

type export struct {
	name string
	f    *Func
}

// NewModule returns an empty module with so many pages of 64 KiB of memory.
func NewModule(pages int) *Module { return &Module{pages: pages} }

// SetPages changes how many pages of memory there are.
func (m *Module) SetPages(n int) { m.pages = n }

// Sig returns the number of a function type.
func (m *Module) Sig(params, results []Type) Sig {
	b := []byte{0x60}
	for _, list := range [][]Type{params, results} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, t := range list {
			b = append(b, byte(t))
		}
	}
	for i, t := range m.types {
		if string(t) == string(b) {
			return Sig(i)
		}
	}
	m.types = append(m.types, b)
	return Sig(len(m.types) - 1)
}

// Func adds a function. Its parameters are its first locals.
func (m *Module) Func(params, results []Type) *Func {
	f := &Func{sig: m.Sig(params, results), index: len(m.funcs), params: len(params)}
	m.funcs = append(m.funcs, f)
	return f
}

// Elem adds a function to the table and returns its place there.
func (m *Module) Elem(f *Func) int32 {
	m.table = append(m.table, f)
	return int32(len(m.table) - 1)
}

// Global adds a variable with its initial value.
func (m *Module) Global(v int32) Global {
	m.globals = append(m.globals, v)
	return Global(len(m.globals) - 1)
}

// Data has some bytes at a place in the memory to begin with.
func (m *Module) Data(at int, bytes []byte) { m.data = append(m.data, segment{at, bytes}) }

// Export gives a function a name outside.
func (m *Module) Export(name string, f *Func) { m.exports = append(m.exports, export{name, f}) }

// Encode returns the module in the binary format.
func (m *Module) Encode() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, n int, f func(b []byte) []byte) {
		if n == 0 {
			return
		}
		b := f(binary.AppendUvarint(nil, uint64(n)))
		out = append(out, id)
		out = binary.AppendUvarint(out, uint64(len(b)))
		out = append(out, b...)
	}
	section(1, len(m.types), func(b []byte) []byte {
		for _, t := range m.types {
			b = append(b, t...)
		}
		return b
	})
	section(3, len(m.funcs), func(b []byte) []byte {
		for _, f := range m.funcs {
			b = binary.AppendUvarint(b, uint64(f.sig))
		}
		return b
	})
	section(4, 1, func(b []byte) []byte {
		b = append(b, 0x70, 1)
		b = binary.AppendUvarint(b, uint64(len(m.table)))
		return binary.AppendUvarint(b, uint64(len(m.table)))
	})
	section(5, 1, func(b []byte) []byte {
		b = append(b, 1)
		b = binary.AppendUvarint(b, uint64(m.pages))
		return binary.AppendUvarint(b, uint64(m.pages))
	})
	section(6, len(m.globals), func(b []byte) []byte {
		for _, v := range m.globals {
			b = append(b, byte(I32), 1, 0x41)
			b = append(appendSigned(b, int64(v)), 0x0b)
		}
		return b
	})
	section(7, len(m.exports)+1, func(b []byte) []byte {
		name := func(s string) {
			b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
		}
		name("memory")
		b = append(b, 2, 0)
		for _, x := range m.exports {
			name(x.name)
			b = binary.AppendUvarint(append(b, 0), uint64(x.f.index))
		}
		return b
	})
	if len(m.table) > 0 {
		section(9, 1, func(b []byte) []byte {
			b = append(b, 0, 0x41, 0, 0x0b)
			b = binary.AppendUvarint(b, uint64(len(m.table)))
			for _, f := range m.table {
				b = binary.AppendUvarint(b, uint64(f.index))
			}
			return b
		})
	}
	section(10, len(m.funcs), func(b []byte) []byte {
		for _, f := range m.funcs {
			c := f.encode()
			b = append(binary.AppendUvarint(b, uint64(len(c))), c...)
		}
		return b
	})
	section(11, len(m.data), func(b []byte) []byte {
		for _, d := range m.data {
			b = append(b, 0, 0x41)
			b = append(appendSigned(b, int64(d.at)), 0x0b)
			b = append(binary.AppendUvarint(b, uint64(len(d.bytes))), d.bytes...)
		}
		return b
	})
	return out
}

// Func is a function that is being made: each method appends an instruction.
type Func struct {
	sig    Sig
	index  int
	params int
	locals []Type
	spare  map[Type][]Local // locals that nobody uses now
	body   []byte
	depth  int
	// The body's length behind the last instruction if that is a number, and if it is a comparison
	// that guard is for.
	number, risky int
}

// Temp returns a local of a type that may hold anything; Release gives it back.
func (f *Func) Temp(t Type) Local {
	if n := len(f.spare[t]); n > 0 {
		l := f.spare[t][n-1]
		f.spare[t] = f.spare[t][:n-1]
		return l
	}
	return f.Local(t)
}

// Release makes locals that Temp has returned available again.
func (f *Func) Release(t Type, l ...Local) {
	if f.spare == nil {
		f.spare = map[Type][]Local{}
	}
	f.spare[t] = append(f.spare[t], l...)
}

// encode returns the locals and the code.
func (f *Func) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(len(f.locals)))
	for _, t := range f.locals {
		b = append(b, 1, byte(t))
	}
	return append(append(b, f.body...), 0x0b)
}

// Reset takes back all code and locals.
func (f *Func) Reset() { f.locals, f.body, f.depth, f.number, f.risky = nil, nil, 0, 0, 0 }

// guard is called before an instruction that may decide a branch by the top of the stack. wazero
// 1.12 makes one instruction of a branch, a comparison with 0 and an "and" (tryLowerBandToFlag),
// and takes 0 < a&b for a&b < 0. Where the right operand is a number, 0 is not on the left.
func (f *Func) guard() {
	if f.risky > 0 && f.risky == len(f.body) {
		f.I32(0)
		f.Op(I32Ne)
	}
}

// ordered tells whether an instruction compares by order.
func ordered(op Op) bool { return op >= I32LtS && op <= I32GeU || op >= I64LtS && op <= I64GeU }

// Local adds a local variable, 0 to begin with.
func (f *Func) Local(t Type) Local {
	f.locals = append(f.locals, t)
	return Local(f.params + len(f.locals) - 1)
}

func (f *Func) indexed(op byte, i uint64) { f.body = binary.AppendUvarint(append(f.body, op), i) }

// Get pushes a local.
func (f *Func) Get(l Local) { f.indexed(0x20, uint64(l)) }

// Set pops a local.
func (f *Func) Set(l Local) {
	f.guard()
	f.indexed(0x21, uint64(l))
}

// Tee stores the top of the stack in a local and leaves it there.
func (f *Func) Tee(l Local) {
	f.guard()
	f.indexed(0x22, uint64(l))
}

// GetGlobal pushes a global.
func (f *Func) GetGlobal(g Global) { f.indexed(0x23, uint64(g)) }

// SetGlobal pops a global.
func (f *Func) SetGlobal(g Global) { f.indexed(0x24, uint64(g)) }

// I32 pushes a number.
func (f *Func) I32(v int32) {
	f.body = appendSigned(append(f.body, 0x41), int64(v))
	f.number = len(f.body)
}

// I64 pushes a number.
func (f *Func) I64(v int64) {
	f.body = appendSigned(append(f.body, 0x42), v)
	f.number = len(f.body)
}

// Op appends instructions without operands.
func (f *Func) Op(ops ...Op) {
	for _, op := range ops {
		safe := !ordered(op) || f.number == len(f.body)
		f.body = append(f.body, byte(op))
		if !safe {
			f.risky = len(f.body)
		}
	}
}

// Mem loads or stores at an address on the stack plus an offset. Nothing is said of
// alignment.
func (f *Func) Mem(a Access, offset int) {
	f.body = binary.AppendUvarint(append(f.body, byte(a), 0), uint64(offset))
}

// Copy16 copies 16 bytes from an address to another one, plus an offset.
func (f *Func) Copy16(to, from Local, offset int) {
	f.Get(to)
	f.Get(from)
	f.body = binary.AppendUvarint(append(f.body, 0xfd, 0x00, 0), uint64(offset))
	f.body = binary.AppendUvarint(append(f.body, 0xfd, 0x0b, 0), uint64(offset))
}

func (f *Func) open(op byte) Label {
	f.body = append(f.body, op, 0x40)
	f.depth++
	return Label(f.depth)
}

// Block opens a block: a branch to it goes behind its end.
func (f *Func) Block() Label { return f.open(0x02) }

// Loop opens a loop: a branch to it goes to its beginning.
func (f *Func) Loop() Label { return f.open(0x03) }

// If opens a block that is executed if the top of the stack is not 0.
func (f *Func) If() Label {
	f.guard()
	return f.open(0x04)
}

// IfValue is If that leaves a value of a type, as must what follows Else.
func (f *Func) IfValue(t Type) Label {
	f.guard()
	f.body = append(f.body, 0x04, byte(t))
	f.depth++
	return Label(f.depth)
}

// Else begins what is executed otherwise.
func (f *Func) Else() { f.body = append(f.body, 0x05) }

// End closes a block, a loop or an if.
func (f *Func) End() {
	f.body = append(f.body, 0x0b)
	f.depth--
}

// Br goes to a label.
func (f *Func) Br(l Label) { f.indexed(0x0c, uint64(f.depth-int(l))) }

// BrIf goes to a label if the top of the stack is not 0.
func (f *Func) BrIf(l Label) {
	f.guard()
	f.indexed(0x0d, uint64(f.depth-int(l)))
}

// BrTable goes to the label with the number on the stack, to the last if there is none.
func (f *Func) BrTable(labels ...Label) {
	f.indexed(0x0e, uint64(len(labels)-1))
	for _, l := range labels {
		f.body = binary.AppendUvarint(f.body, uint64(f.depth-int(l)))
	}
}

// Call calls a function.
func (f *Func) Call(g *Func) { f.indexed(0x10, uint64(g.index)) }

// CallIndirect calls the function of the table whose place is on the stack.
func (f *Func) CallIndirect(s Sig) {
	f.indexed(0x11, uint64(s))
	f.body = append(f.body, 0)
}

// appendSigned appends a number as a signed LEB128.
func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
