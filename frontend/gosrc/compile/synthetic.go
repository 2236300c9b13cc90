package compile

import (
	"go/token"
	"go/types"
	"strconv"
	"strings"
)

// Operation is a case of what [Program.SelectFunc] makes.
type Operation struct {
	Send bool
	Elem *Type // of the channel
}

// synthetic returns the function of that key, which is in no source: package reflect needs
// operations whose types are not known in advance. All its registers have types, and are zero
// from its first instruction on, so they count as live from then on.
func (p *Program) synthetic(key string, sig *types.Signature, captured []types.Type,
	emit func(*compiler)) *Func {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.synthetics[key]; f != nil {
		return f
	}
	f := p.funcLocked(p.SSA.NewFunction("reflect."+strings.SplitN(key, " ", 2)[0], sig,
		"made for package reflect"))
	for _, t := range captured {
		f.Captured = append(f.Captured, p.typeOf(t))
	}
	f.Hidden, f.Untracked, f.emit = true, true, emit
	p.synthetics[key] = f
	return f
}

// local returns a register for a value of a type in a synthetic function.
func (c *compiler) local(t *Type) int32 {
	r := c.alloc(t.Size)
	if t.Size > 0 {
		c.f.registers = append(c.f.registers, Slot{r, t})
	}
	return r
}

// synthesise compiles a synthetic function.
func (c *compiler) synthesise() {
	f := c.f
	for _, ts := range [][]*Type{f.ParamTypes, f.Captured} {
		for _, t := range ts {
			c.local(t)
		}
	}
	from := c.next
	zero := c.emit(Instr{Op: Zero, A: from})
	f.emit(c)
	f.Code[zero].N = c.next - from
	c.finish()
}

// SelectFunc returns a function that performs one of some operations on channels, or none
// if none is possible and def is set. Its parameters are, for each operation, the channel
// and the value to send or a pointer to where the received one goes; its results the
// number of the operation, -1 for none, and whether a value was received.
func (p *Program) SelectFunc(ops []Operation, def bool) *Func {
	var key strings.Builder
	var params []*types.Var
	for _, o := range ops {
		key.WriteString(" <-")
		x := types.Type(types.NewPointer(o.Elem.T))
		if o.Send {
			x = o.Elem.T
			key.WriteString(">")
		}
		key.WriteString(strconv.Itoa(int(o.Elem.ID)))
		params = append(params, types.NewParam(token.NoPos, nil, "", types.NewChan(types.SendRecv,
			o.Elem.T)), types.NewParam(token.NoPos, nil, "", x))
	}
	if def {
		key.WriteString(" default")
	}
	results := types.NewTuple(types.NewParam(token.NoPos, nil, "", types.Typ[types.Int]),
		types.NewParam(token.NoPos, nil, "", types.Typ[types.Bool]))
	sig := types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), results, false)
	return p.synthetic("select"+key.String(), sig, nil, func(c *compiler) {
		var at []int32 // of channels; what belongs to them stands behind
		r := int32(0)
		for _, o := range ops {
			at = append(at, r)
			if r += 2; o.Send {
				r += int32(o.Elem.Size) - 1
			}
		}
		which, ok := c.local(c.typ(types.Typ[types.Int])), c.local(c.typ(types.Typ[types.Bool]))
		got := make([]int32, len(ops))
		for i, o := range ops {
			if !o.Send {
				got[i] = c.local(o.Elem)
			}
		}
		received := c.next
		switch {
		case len(ops) == 1 && !def && ops[0].Send:
			c.emit(Instr{Op: Send, A: at[0], B: at[0] + 1, N: c.typeIndex(ops[0].Elem)})
		case len(ops) == 1 && !def:
			to := c.local(ops[0].Elem)
			flag := c.local(c.typ(types.Typ[types.Bool]))
			c.emit(Instr{Op: Recv, A: to, B: at[0], C: 1, N: c.typeIndex(ops[0].Elem)})
			c.move(got[0], to, ops[0].Elem.Size)
			c.move(ok, flag, 1)
		default:
			s := Select{Default: def}
			for i, o := range ops {
				k := Case{Send: o.Send, Chan: at[i], Type: o.Elem, Value: -1}
				recv := got[i] - which
				if o.Send {
					k.Value, recv = at[i]+1, -1
				}
				s.Cases, s.Recv = append(s.Cases, k), append(s.Recv, recv)
			}
			c.f.Selects = append(c.f.Selects, s)
			c.emit(Instr{Op: SelectOp, A: which, B: received - which})
		}
		for i, o := range ops {
			if !o.Send {
				c.store(at[i]+1, got[i], o.Elem)
			}
		}
		c.retWords(which, 2)
	})
}

// MadeFunc returns the function that reflect.MakeFunc makes closures of for a type of
// functions: it captures the type's number and what is called, and calls runMade of package
// reflect with pointers to its parameters and results.
func (p *Program) MadeFunc(t *Type) *Func {
	run := p.Lookup("reflect", "runMade")
	s := t.T.Underlying().(*types.Signature)
	return p.synthetic("MakeFunc "+strconv.Itoa(int(t.ID)), s, []types.Type{types.Typ[types.Int],
		run.ParamTypes[1].T}, func(c *compiler) {
		pointer := c.typ(types.Typ[types.UnsafePointer])
		number, fn := int32(c.f.Params), int32(c.f.Params)+1
		n := len(c.f.ParamTypes) + len(c.f.ResultTypes)
		// The arguments of runMade: a slice of pointers is the last one.
		list, length, room := c.local(pointer), c.local(c.typ(types.Typ[types.Int])),
			c.local(c.typ(types.Typ[types.Int]))
		c.emit(Instr{Op: Alloc, A: list,
			N: c.typeIndex(c.typ(types.NewArray(types.Typ[types.UnsafePointer], int64(n))))})
		c.move(length, c.words(uint64(n)), 1)
		c.move(room, length, 1)
		cell := c.local(pointer)
		place := func(i int, t *Type) int32 {
			at := c.local(pointer)
			c.emit(Instr{Op: Alloc, A: at, N: c.typeIndex(t)})
			c.emit(Instr{Op: FieldAddr, A: cell, B: list, N: int32(i)})
			c.store(cell, at, pointer)
			return at
		}
		r := int32(0)
		for i, t := range c.f.ParamTypes {
			c.store(place(i, t), r, t)
			r += int32(t.Size)
		}
		var at []int32
		for i, t := range c.f.ResultTypes {
			at = append(at, place(len(c.f.ParamTypes)+i, t))
		}
		c.emit(Instr{Op: CallF, A: -1,
			N: c.addCall(Call{Func: run, Args: []Move{{number, 0, 1}, {fn, 1, 1}, {list, 2, 3}}})})
		from := c.next
		for _, t := range c.f.ResultTypes {
			c.local(t)
		}
		to := from
		for i, t := range c.f.ResultTypes {
			c.load(to, at[i], t)
			to += int32(t.Size)
		}
		c.retWords(from, c.f.Results)
	})
}
