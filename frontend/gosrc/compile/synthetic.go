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
func (p *Program) synthetic(key string, sig *types.Signature, emit func(*compiler)) *Func {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.synthetics[key]; f != nil {
		return f
	}
	f := p.funcLocked(p.SSA.NewFunction("reflect."+strings.SplitN(key, " ", 2)[0], sig,
		"made for package reflect"))
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
	for _, t := range f.ParamTypes {
		c.local(t)
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
	return p.synthetic("select"+key.String(), sig, func(c *compiler) {
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
