package program

import (
	"cmp"
	"fmt"
	"slices"

	"cpor/frontend/promela/syntax"
	"cpor/internal/spell"
)

var basic = map[string]*Type{
	"bit":   {Name: "bit", Bits: 1, Size: 1},
	"bool":  {Name: "bool", Bits: 1, Size: 1},
	"byte":  {Name: "byte", Bits: 8, Size: 1},
	"pid":   {Name: "pid", Bits: 8, Size: 1},
	"chan":  {Name: "chan", Bits: 8, Size: 1},
	"mtype": {Name: "mtype", Bits: 8, Size: 1},
	"short": {Name: "short", Bits: 16, Signed: true, Size: 1},
	"int":   {Name: "int", Bits: 32, Signed: true, Size: 1},
}

const (
	maxScalars = 1 << 16 // of a region
	maxArray   = 1 << 16
	maxCap     = 1<<15 - 1
	maxStates  = 1<<16 - 2
)

type resolver struct {
	p       *Program
	errs    syntax.Errors
	types   map[string]*Type
	globals map[string]*Sym
	procs   map[string]*Proc
	kinds   map[string]map[string]int // mtype constants by kind

	// Of the process type that is being resolved:
	proc    *Proc
	scopes  []map[string]*Sym
	widest  int  // how many fields the messages of a channel have at most
	takes   bool // parameters are being declared
	inDStep int
	enabled syntax.Pos // the first enabled(...)
	meets   bool       // there are rendezvous channels
	whole   bool       // an array may stand here without an index
	polls   polling    // where the expression stands that is resolved next
	late    []func()   // what waits until all processes are resolved
	remote  []func()   // remote references, resolved when all automata are there
}

// Resolve resolves a parsed model. The error is a [syntax.Errors], with the warnings at its end.
func Resolve(m *syntax.Model) (*Program, error) {
	r := &resolver{
		p:     &Program{Model: m, Mtypes: map[string]int{}, Names: map[string]map[int]string{}},
		types: map[string]*Type{}, globals: map[string]*Sym{}, procs: map[string]*Proc{},
		kinds: map[string]map[string]int{},
	}
	r.model(m)
	if len(r.errs) > 0 {
		return nil, append(r.errs, r.p.Warnings...)
	}
	return r.p, nil
}

func (r *resolver) fail(pos syntax.Pos, n int, format string, args ...any) {
	enter(&r.errs, pos, n, fmt.Sprintf(format, args...))
}

// enter adds a message to a list unless it is there: a label before a for is resolved twice.
func enter(l *syntax.Errors, pos syntax.Pos, n int, text string) {
	e := &syntax.Error{Pos: pos, Len: max(1, n), Text: text}
	if !slices.ContainsFunc(*l, func(o *syntax.Error) bool { return *o == *e }) {
		*l = append(*l, e)
	}
}

// fits warns of a constant y, written as x, that is not what a variable of type t holds after it
// was assigned. SPIN's simulator calls that an error and continues; its verifier is silent.
func (r *resolver) fits(name string, t *Type, x syntax.Expr, y Expr) {
	c, ok := y.(*Const)
	if !ok || t.IsStruct() || t.Truncate(c.Value) == c.Value {
		return
	}
	of := t.Name
	if t.Name == "unsigned" {
		of = fmt.Sprintf("unsigned : %d", t.Bits)
	}
	enter(&r.p.Warnings, x.At(), 1,
		fmt.Sprintf("warning: %d does not fit in %s, whose type is %s: %s "+
			"becomes %d", c.Value, name, of, name, t.Truncate(c.Value)))
}

func (r *resolver) model(m *syntax.Model) {
	// Constants first: numbered from the last to the first; later declarations of the same kind
	// continue.
	for _, d := range m.Decls {
		if d, ok := d.(*syntax.Mtype); ok {
			r.mtype(d)
		}
	}
	for _, d := range m.Decls {
		if d, ok := d.(*syntax.Proctype); ok {
			r.declareProc(d)
		}
	}
	for i, d := range m.Decls {
		switch d := d.(type) {
		case *syntax.Typedef:
			r.typedef(d)
		case *syntax.VarDecl:
			r.declareGlobals(d, i)
		}
	}
	r.order()
	r.processes()
	for _, d := range m.Nevers {
		r.claim(d)
	}
	if m.Trace != nil {
		r.p.Trace = &Proc{Name: m.Trace.Name.Text, Index: len(r.p.Procs) + 1, Decl: m.Trace,
			Labels: map[string]*State{}}
		r.process(r.p.Trace)
	}
	r.proc, r.scopes = nil, nil
	r.number()
	for _, l := range m.LTLs {
		r.ltl(l)
	}
	for _, f := range append(r.late, r.remote...) {
		f()
	}
	if r.enabled.IsValid() && r.meets {
		r.fail(r.enabled, len("enabled"), "enabled cannot be asked in a model with rendezvous "+
			"channels, as in SPIN")
	}
	for _, p := range r.p.Procs {
		for range r.active(p) {
			r.p.Actives = append(r.p.Actives, Active{p})
		}
	}
	if len(r.p.Actives) == 0 && len(r.errs) == 0 {
		r.fail(syntax.Pos{}, 0, "%s: nothing runs: there is no init and no active proctype",
			m.Files[0].Name)
	}
	if len(r.p.Actives) > MaxProcesses {
		r.fail(syntax.Pos{}, 0, "%s: %d active processes: there can be at most %d", m.Files[0].Name,
			len(r.p.Actives), MaxProcesses)
	}
}

// declareProc declares a process type.
func (r *resolver) declareProc(d *syntax.Proctype) {
	if old := r.procs[d.Name.Text]; old != nil {
		line, _ := old.Decl.Name.Pos.Line()
		r.fail(d.Name.Pos, len(d.Name.Text), "%s is redeclared; it was declared in line %d",
			d.Name.Text, line)
		return
	}
	p := &Proc{
		Name:   d.Name.Text,
		Index:  len(r.p.Procs),
		Decl:   d,
		Labels: map[string]*State{},
	}
	r.procs[p.Name] = p
	r.p.Procs = append(r.p.Procs, p)
}

// declareGlobals declares the global variables of the declaration with a number.
func (r *resolver) declareGlobals(d *syntax.VarDecl, number int) {
	r.scopes = nil
	for _, v := range d.Vars {
		s := r.declare(&r.p.Globals, d, v, true)
		if s == nil {
			continue
		}
		s.Global, s.Order = true, number
		if old := r.globals[s.Name.Text]; old != nil {
			line, _ := old.Name.Pos.Line()
			r.fail(s.Name.Pos, len(s.Name.Text),
				"%s is redeclared; it was declared in line %d", s.Name.Text, line)
		}
		r.globals[s.Name.Text] = s
		r.p.Globals.Syms = append(r.p.Globals.Syms, s)
	}
}

// processes resolves the parameters of all process types, and then their bodies.
func (r *resolver) processes() {
	for _, p := range r.p.Procs {
		if g := r.globals[p.Name]; g != nil && g.Order < p.Decl.Known {
			line, _ := g.Name.Pos.Line()
			r.fail(p.Decl.Name.Pos, len(p.Name),
				"%s is redeclared; it is a variable declared in line %d", p.Name, line)
		}
		r.params(p)
	}
	for _, p := range r.p.Procs {
		r.process(p)
	}
}

// claim resolves a never claim.
func (r *resolver) claim(d *syntax.Proctype) {
	for _, c := range r.p.Claims {
		if c.Name == d.Name.Text {
			r.fail(d.Name.Pos, len(d.Name.Text), "a second never claim with the name %s", c.Name)
		}
	}
	if r.procs[d.Name.Text] != nil {
		r.fail(d.Name.Pos, len(d.Name.Text), "%s is a process type and cannot be a claim, too",
			d.Name.Text)
	}
	c := &Proc{Name: d.Name.Text, Index: len(r.p.Procs), Decl: d, Labels: map[string]*State{}}
	r.p.Claims = append(r.p.Claims, c)
	r.process(c)
}

// active returns the number of processes of a type that run from the beginning.
func (r *resolver) active(p *Proc) int32 {
	if p.Decl.Active == nil {
		if p.Decl.Init {
			return 1
		}
		return 0
	}
	n, ok := r.size(p.Decl.Active, false)
	if !ok {
		r.fail(p.Decl.Active.At(), 1, "the number of active processes must be a constant")
	}
	if n < 0 || n > MaxProcesses {
		r.fail(p.Decl.Active.At(), 1, "%d active processes: there can be at most %d", n,
			MaxProcesses)
		return 0
	}
	return n
}

func (r *resolver) mtype(d *syntax.Mtype) {
	k := r.kinds[d.Kind]
	if k == nil {
		k = map[string]int{}
		r.kinds[d.Kind] = k
	}
	base := len(k)
	for i, n := range d.Names {
		if _, ok := r.p.Mtypes[n.Text]; ok {
			r.fail(n.Pos, len(n.Text), "the symbolic constant %s is declared twice", n.Text)
			continue
		}
		v := base + len(d.Names) - i
		if v > 255 {
			r.fail(n.Pos, len(n.Text), "there are more than 255 symbolic constants of this mtype")
			return
		}
		k[n.Text] = v
		r.p.Mtypes[n.Text] = v
		if r.p.Names[d.Kind] == nil {
			r.p.Names[d.Kind] = map[int]string{}
		}
		r.p.Names[d.Kind][v] = n.Text
	}
}

func (r *resolver) typedef(d *syntax.Typedef) {
	if r.types[d.Name.Text] != nil {
		r.fail(d.Name.Pos, len(d.Name.Text), "typedef %s is declared twice", d.Name.Text)
		return
	}
	t := &Type{Name: d.Name.Text, Fields: []*Sym{}}
	seen := map[string]bool{}
	for _, f := range d.Fields {
		for _, v := range f.Vars {
			if seen[v.Name.Text] {
				r.fail(v.Name.Pos, len(v.Name.Text), "field %s is declared twice in %s",
					v.Name.Text, d.Name.Text)
			}
			seen[v.Name.Text] = true
			ft := r.typ(f.Type, f.Kind, v.Width, f.Pos)
			if ft == nil {
				continue
			}
			s := &Sym{Name: v.Name, Type: ft, Base: t.Size, Len: r.length(v)}
			if v.Chan != nil {
				s.Chan = r.channel(v.Chan, v.Name.Text)
			}
			if s.Len > 0 {
				s.Type = wide(ft)
			}
			r.list(s, v)
			if v.Init != nil {
				s.Init = r.expr(v.Init)
				r.fits(v.Name.Text, s.Type, v.Init, s.Init)
				Each(s.Init, func(x Expr) {
					if l, ok := x.(*Load); ok {
						r.fail(l.Place.Pos, len(l.Place.Name),
							"a field is initialized with constants, as in SPIN, and %s is a "+
								"variable", l.Place.Name)
					}
				})
			}
			t.Size += s.Scalars()
			if t.Size > maxScalars {
				r.fail(v.Name.Pos, len(v.Name.Text), "typedef %s is too large", d.Name.Text)
				t.Size = 1
			}
			t.Fields = append(t.Fields, s)
		}
	}
	r.types[t.Name] = t
}

// wide returns the type that SPIN stores a bit in where it cannot make it a bit
// field of C: as the element of an array, and as the only field of a message.
// Then it holds values up to 255.
func wide(t *Type) *Type {
	if t.Bits != 1 || t.IsStruct() {
		return t
	}
	w := *t
	w.Bits = 8
	return &w
}

func (r *resolver) typ(name, kind string, width int, pos syntax.Pos) *Type {
	if name == "unsigned" {
		return &Type{Name: name, Bits: max(1, width), Size: 1}
	}
	if name == "mtype" && kind != "" {
		return &Type{Name: name, Kind: kind, Bits: 8, Size: 1}
	}
	if t := basic[name]; t != nil {
		return t
	}
	if t := r.types[name]; t != nil {
		return t
	}
	r.fail(pos, len(name), "%s is not a type", name)
	return nil
}

func (r *resolver) length(v *syntax.Var) int {
	if v.Array == nil {
		return 0
	}
	n, ok := r.size(v.Array, true)
	if !ok {
		r.fail(v.Array.At(), 1, "the length of array %s must be a constant", v.Name.Text)
		return 1
	}
	if v.Width > 0 {
		r.fail(v.Array.At(), 1, "an unsigned cannot be an array; use byte, short or int")
	}
	if n < 1 || n > maxArray {
		r.fail(v.Array.At(), 1, "array %s has length %d; it can be from 1 to %d", v.Name.Text, n,
			maxArray)
		return 1
	}
	return int(n)
}

// declare makes a variable of a region; first reports whether initializers are those of the
// region's creation.
func (r *resolver) declare(reg *Region, d *syntax.VarDecl, v *syntax.Var, first bool) *Sym {
	t := r.typ(d.Type, d.Kind, v.Width, d.Pos)
	if t == nil {
		return nil
	}
	if _, ok := r.p.Mtypes[v.Name.Text]; ok && reg == &r.p.Globals {
		r.fail(v.Name.Pos, len(v.Name.Text),
			"%s is a symbolic constant and cannot be a variable, too", v.Name.Text)
	}
	s := &Sym{Name: v.Name, Type: t, Len: r.length(v), Base: len(reg.Scalars), Hidden: d.Hidden}
	if s.Len > 0 {
		t = wide(t)
		s.Type = t
	}
	if s.Base+s.Scalars() > maxScalars {
		r.fail(v.Name.Pos, len(v.Name.Text), "the variables are too large with %s", v.Name.Text)
		return nil
	}
	for i := range max(1, s.Len) {
		reg.Scalars = appendScalars(reg.Scalars, s.element(i), t, d.Hidden)
	}
	if !r.takes { // a parameter is a copy of the argument, with its channels
		r.fields(reg, s, v.Name.Text, s.Base)
	}
	switch {
	case v.Chan != nil:
		if !first {
			r.fail(v.Chan.Pos, 1, "a channel with an initializer must be declared at the start "+
				"of the proctype")
			return s
		}
		r.channels(reg, s, v)
	case v.List != nil:
		if !first {
			r.fail(v.Name.Pos, len(v.Name.Text), "a list of values cannot initialize an array "+
				"here, only at the start of the proctype")
			return s
		}
		r.list(s, v)
	case v.Init != nil:
		s.Init = r.expr(v.Init)
		r.fits(v.Name.Text, t, v.Init, s.Init)
		r.early(d, v, s.Init)
		r.noChannel(s, v.Init, true)
		if t.Kind != "" {
			r.sameKind(v.Init, s)
		}
		if t.IsStruct() {
			if !first {
				r.fail(v.Init.At(), 1, "a structure has no initializer")
			}
			s.Init = nil // SPIN takes one, and does nothing with it
		}
	}
	return s
}

// channels makes the channels that initialize a variable.
func (r *resolver) channels(reg *Region, s *Sym, v *syntax.Var) {
	c := r.channel(v.Chan, v.Name.Text)
	if c == nil {
		return
	}
	for i := range max(1, s.Len) {
		n, ok := r.addChannel(reg, c, s.element(i))
		if !ok {
			return
		}
		s.Chans = append(s.Chans, n)
	}
}

// element is the name of element i of an array, or of a variable that is none.
func (s *Sym) element(i int) string {
	if s.Len == 0 {
		return s.Name.Text
	}
	return fmt.Sprintf("%s[%d]", s.Name.Text, i)
}

// sameKind refuses a symbolic constant of another mtype than that of a variable.
func (r *resolver) sameKind(x syntax.Expr, v *Sym) {
	n, ok := x.(*syntax.Ref)
	if !ok || n.Index != nil || n.Field != nil {
		return
	}
	if !n.Symbolic || n.Number || v.Type.Name != "mtype" {
		return
	}
	if _, is := r.kinds[v.Type.Kind][n.Name]; is {
		return
	}
	called := func(kind string) string {
		if kind == "" {
			return "mtype"
		}
		return "mtype:" + kind
	}
	for kind, names := range r.kinds {
		if _, is := names[n.Name]; is {
			r.fail(n.Pos, len(n.Name), "%s is of type %s, and %s is a constant of %s", v.Name.Text,
				called(v.Type.Kind), n.Name, called(kind))
		}
	}
}

// noChannel refuses a channel as a part of what is assigned to a variable, as SPIN does; it may be
// all of it, an index, or a field of a structure.
func (r *resolver) noChannel(to *Sym, x syntax.Expr, whole bool) {
	if to.Type.IsStruct() {
		return
	}
	switch x := x.(type) {
	case *syntax.Ref:
		if s := r.lookup(x); s != nil && s.Type.Name == "chan" && !whole {
			r.fail(x.Pos, len(x.Name), "%s is a channel, whose number cannot be a part of what "+
				"is assigned; len(%s) is how many messages it has", x.Name, x.Name)
		}
		if x.Index != nil {
			r.noChannel(to, x.Index, true)
		}
	case *syntax.Unary:
		r.noChannel(to, x.X, false)
	case *syntax.Binary:
		r.noChannel(to, x.X, false)
		r.noChannel(to, x.Y, false)
	case *syntax.Cond:
		r.noChannel(to, x.If, false)
		r.noChannel(to, x.Then, false)
		r.noChannel(to, x.Else, false)
	case *syntax.Call:
		r.noChannel(to, x.X, false)
	}
}

// early refuses to initialize v with a variable of the same declaration, which SPIN does not
// know before the declaration has ended.
func (r *resolver) early(d *syntax.VarDecl, v *syntax.Var, x Expr) {
	Each(x, func(x Expr) {
		l, ok := x.(*Load)
		for _, w := range d.Vars {
			if w == v || !ok {
				return
			}
			if w.Name.Pos == l.Place.Sym.Name.Pos {
				r.fail(l.Place.Pos, len(w.Name.Text),
					"%s is declared in the same declaration, and known only after it; make two "+
						"declarations of this one", w.Name.Text)
			}
		}
	})
}

// list assigns the values of { ... } to the elements of an array. As in SPIN, the last value is
// used for the remaining elements, and excess values are dropped.
func (r *resolver) list(s *Sym, v *syntax.Var) {
	for _, x := range v.List {
		y := r.expr(x)
		if _, ok := y.(*Const); !ok {
			r.fail(x.At(), 1, "a list of values has constants only; assign this in a statement")
		}
		r.fits(fmt.Sprintf("%s[%d]", v.Name.Text, len(s.List)), s.Type, x, y)
		s.List = append(s.List, y)
	}
	if len(s.List) == 0 {
		return
	}
	for len(s.List) < s.Len {
		s.List = append(s.List, s.List[len(s.List)-1])
	}
	s.List = s.List[:max(1, s.Len)]
}

// addChannel makes a channel of a region like c, and returns its number.
func (r *resolver) addChannel(reg *Region, c *Channel, name string) (int, bool) {
	cc := *c
	cc.Name, cc.Base = name, len(reg.Scalars)
	if cc.Cap > 0 {
		count := basic["byte"]
		if cc.Cap > 255 {
			count = basic["short"]
		}
		reg.Scalars = append(reg.Scalars, Scalar{Name: "len(" + name + ")", Type: count})
		for k := range cc.Cap {
			for f, ft := range cc.Fields {
				reg.Scalars = append(reg.Scalars, Scalar{Name: fmt.Sprintf("%s[%d].%d", name, k, f),
					Type: ft})
			}
		}
	}
	if len(reg.Scalars) > maxScalars || len(reg.Chans) >= MaxChannels {
		r.fail(c.Pos, 1, "channel %s is too large, or there are too many of them", name)
		return 0, false
	}
	reg.Chans = append(reg.Chans, &cc)
	return len(reg.Chans) - 1, true
}

// fields makes the channels that the fields of a variable are initialized with. base is
// its first scalar.
func (r *resolver) fields(reg *Region, s *Sym, name string, base int) {
	if !s.Type.IsStruct() {
		return
	}
	for i := range max(1, s.Len) {
		for _, f := range s.Type.Fields {
			at := base + i*s.Type.Size + f.Base
			full := name
			if s.Len > 0 {
				full = fmt.Sprintf("%s[%d]", name, i)
			}
			full += "." + f.Name.Text
			if f.Chan == nil {
				r.fields(reg, f, full, at)
				continue
			}
			for k := range max(1, f.Len) {
				element := full
				if f.Len > 0 {
					element = fmt.Sprintf("%s[%d]", full, k)
				}
				n, ok := r.addChannel(reg, f.Chan, element)
				if !ok {
					return
				}
				reg.Fields = append(reg.Fields, Field{at + k, n})
			}
		}
	}
}

func appendScalars(list []Scalar, name string, t *Type, hidden bool) []Scalar {
	if !t.IsStruct() {
		return append(list, Scalar{name, t, hidden})
	}
	for _, f := range t.Fields {
		for i := range max(1, f.Len) {
			n := name + "." + f.Name.Text
			if f.Len > 0 {
				n = fmt.Sprintf("%s[%d]", n, i)
			}
			list = appendScalars(list, n, f.Type, hidden)
		}
	}
	return list
}

func (r *resolver) channel(c *syntax.ChanInit, name string) *Channel {
	n, ok := r.constant(c.Cap)
	if !ok || n < 0 || n > maxCap {
		r.fail(c.Cap.At(), 1, "the capacity of channel %s must be a constant from 0 to %d", name,
			maxCap)
		return nil
	}
	ch := &Channel{Name: name, Pos: c.Pos, Cap: int(n)}
	r.meets = r.meets || n == 0
	for _, f := range c.Fields {
		t := r.typ(f.Type, f.Kind, 0, f.Pos)
		if t == nil {
			return nil
		}
		if t.IsStruct() && len(c.Fields) == 1 {
			ch.Struct = t
		}
		if r.unsendable(t, name, f.Pos) {
			return nil
		}
		for _, s := range appendScalars(nil, "", t, false) {
			ch.Fields = append(ch.Fields, s.Type)
		}
	}
	r.widest = max(r.widest, len(ch.Fields))
	if len(ch.Fields) == 1 {
		ch.Fields[0] = wide(ch.Fields[0])
	}
	if len(ch.Fields) == 0 {
		r.fail(c.Pos, 1, "the messages of channel %s have no fields", name)
	}
	return ch
}

// unsendable reports that a type contains what SPIN's messages cannot.
func (r *resolver) unsendable(t *Type, name string, pos syntax.Pos) bool {
	for _, f := range t.Fields {
		switch {
		case f.Len > 0 && f.Type.IsStruct():
			r.fail(pos, len(t.Name), "the messages of channel %s cannot have the array of "+
				"structures %s in %s", name, f.Name.Text, t.Name)
		case f.Type.Name == "unsigned":
			r.fail(pos, len(t.Name), "the messages of channel %s cannot have the unsigned %s in "+
				"%s; a byte or a short can be sent", name, f.Name.Text, t.Name)
		case !r.unsendable(f.Type, name, pos):
			continue
		}
		return true
	}
	return false
}

// constant evaluates an expression of constants.
func (r *resolver) constant(x syntax.Expr) (int32, bool) {
	n := len(r.errs)
	v := r.expr(x)
	if len(r.errs) > n {
		return 1, true // it has been told already
	}
	c, ok := v.(*Const)
	if !ok {
		return 0, false
	}
	return c.Value, true
}

// size is constant, but treats a global variable as the constant that it is initialized with, as
// SPIN does for the length of an array or the number of processes. A length that SPIN cannot
// determine is 8.
func (r *resolver) size(x syntax.Expr, length bool) (int32, bool) {
	ref, ok := x.(*syntax.Ref)
	if !ok || r.lookup(ref) == nil {
		return r.constant(x)
	}
	s := r.lookup(ref)
	switch c, ok := s.Init.(*Const); {
	case s.Len > 0:
		return 0, false
	case ok && (c.Value > 0 || !length):
		return c.Value, true
	case length:
		return 8, true
	}
	return 0, s.Init == nil
}

// order puts the global variables into the order in which SPIN initializes them: by type, and in
// the order of declaration within a type. Channels are numbered in that order.
func (r *resolver) order() {
	g := &r.p.Globals
	rank := func(s *Sym) int {
		switch {
		case s.Type.IsStruct():
			return 7
		case s.Type.Name == "unsigned":
			return 0
		}
		return map[string]int{"bit": 1, "bool": 1, "byte": 2, "pid": 2, "chan": 3, "mtype": 4,
			"short": 5, "int": 6}[s.Type.Name]
	}
	slices.SortStableFunc(g.Syms, func(a, b *Sym) int { return rank(a) - rank(b) })
	var chans []*Channel
	for _, s := range g.Syms {
		for i, c := range s.Chans {
			chans = append(chans, g.Chans[c])
			s.Chans[i] = len(chans) - 1
		}
	}
	for i, f := range g.Fields {
		chans = append(chans, g.Chans[f.Chan])
		g.Fields[i].Chan = len(chans) - 1
	}
	g.Chans = chans
}

func (r *resolver) params(p *Proc) {
	r.proc = p
	r.takes = true
	defer func() { r.takes = false }()
	for _, d := range p.Decl.Params {
		for _, v := range d.Vars {
			s := r.declare(&p.Region, d, v, true)
			if s == nil {
				continue
			}
			if f := arrayIn(s.Type); f != nil {
				r.fail(v.Name.Pos, len(v.Name.Text),
					"the parameter %s has an array, %s, which cannot be passed", v.Name.Text,
					f.Name.Text)
			}
			p.Params = append(p.Params, s)
			p.Syms = append(p.Syms, s)
		}
	}
	p.Arity = len(p.Scalars)
}

// arrayIn returns an array in a structure; nil if there is none.
func arrayIn(t *Type) *Sym {
	for _, f := range t.Fields {
		if f.Len > 0 {
			return f
		}
		if g := arrayIn(f.Type); g != nil {
			return g
		}
	}
	return nil
}

// lookup returns what a name means at its place; nil if nothing. A global variable is known
// after its declaration.
func (r *resolver) lookup(ref *syntax.Ref) *Sym {
	if ref.Symbolic {
		return nil
	}
	if s := r.inner(ref.Name); s != nil {
		return s
	}
	if s := r.globals[ref.Name]; s != nil && s.Order < ref.Known {
		return s
	}
	return nil
}

// inner returns the local variable of that name; nil if there is none.
func (r *resolver) inner(name string) *Sym {
	for i := len(r.scopes) - 1; i >= 0; i-- {
		if s := r.scopes[i][name]; s != nil {
			return s
		}
	}
	return nil
}

func (r *resolver) visible() []string {
	var names []string
	for _, sc := range r.scopes {
		for n := range sc {
			names = append(names, n)
		}
	}
	for n := range r.globals {
		names = append(names, n)
	}
	for n := range r.p.Mtypes {
		names = append(names, n)
	}
	return names
}

// place resolves a variable, an element or a field.
func (r *resolver) place(ref *syntax.Ref) *Place {
	s := r.lookup(ref)
	if s == nil {
		more := spell.DidYouMean(ref.Name, r.visible(), "")
		_, constant := r.p.Mtypes[ref.Name]
		if ref.Symbolic {
			r.fail(ref.Pos, len(ref.Name), "%s is a symbolic constant, and a variable should be "+
				"here", ref.Name)
			return nil
		}
		if g := r.globals[ref.Name]; g != nil && g.Order == ref.Known && r.proc == nil {
			more = "; it is declared in the same declaration, and known only after it; make two " +
				"declarations of this one"
		} else if g != nil || constant || r.procs[ref.Name] != nil ||
			r.p.Model.Inlines[ref.Name] != nil {
			more = "; it is declared only below, and a name is known only after its declaration, " +
				"as in SPIN; move that up"
		}
		if ref.Name == "_pid" {
			r.fail(ref.Pos, len(ref.Name), "_pid cannot be assigned, and nothing received into "+
				"it; to receive what is the same write eval(_pid)")
			return nil
		}
		r.fail(ref.Pos, len(ref.Name), "undeclared variable: %s%s", ref.Name, more)
		return nil
	}
	return r.placeOf(s, ref)
}

func (r *resolver) placeOf(s *Sym, ref *syntax.Ref) *Place {
	pl := &Place{Sym: s, Pos: ref.Pos, Base: s.Base, Global: s.Global, Name: ref.Name}
	for {
		stride := s.Type.Size
		switch {
		case ref.Index != nil && s.Len == 0:
			// SPIN treats x[0] as x.
			if c, ok := r.constant(ref.Index); !ok || c != 0 {
				r.fail(ref.Index.At(), 1, "%s is not an array", ref.Name)
				return nil
			}
		case ref.Index != nil:
			x := r.expr(ref.Index)
			if c, ok := x.(*Const); ok && c.Value >= 0 && int(c.Value) < s.Len {
				pl.Base += int(c.Value) * stride
			} else {
				// A constant out of range fails when it is reached.
				pl.Index = append(pl.Index, Index{x, s.Len, stride, ref.Index.At()})
			}
		case s.Len > 0 && !r.whole:
			r.fail(ref.Pos, len(ref.Name), "%s is an array, which needs an index here: %s[0] is "+
				"its first element", ref.Name, ref.Name)
			return nil
		}
		pl.Type, pl.Count = s.Type, s.Type.Size
		if ref.Field == nil {
			return pl
		}
		if !s.Type.IsStruct() {
			r.fail(ref.Field.Pos, len(ref.Field.Name), "%s is not a structure, it has no field %s",
				ref.Name, ref.Field.Name)
			return nil
		}
		ref = ref.Field
		var f *Sym
		var names []string
		for _, g := range s.Type.Fields {
			names = append(names, g.Name.Text)
			if g.Name.Text == ref.Name {
				f = g
			}
		}
		if f == nil {
			r.fail(ref.Pos, len(ref.Name), "%s has no field %s%s", s.Type.Name, ref.Name,
				spell.DidYouMean(ref.Name, names, ""))
			return nil
		}
		pl.Base += f.Base
		pl.Name += "." + f.Name.Text
		s = f
	}
}

var zero = &Const{}

func (r *resolver) scalar(ref *syntax.Ref) *Place {
	pl := r.place(ref)
	if pl != nil && pl.Type.IsStruct() {
		r.fail(ref.Pos, len(ref.Name), "%s is a structure; name one of its fields", ref.Name)
		return nil
	}
	return pl
}

// polling says where empty, full and their negations are allowed: in SPIN's grammar they are a
// condition, a part of one with && and ||, or the right side of an assignment, but not a part of
// any other expression.
type polling uint8

const (
	nowhere  polling = iota
	here             // as the expression, or a side of its && and ||
	anywhere         // in an ltl formula
)

// full resolves an expression that may be empty(q) and the like, or a combination of these.
func (r *resolver) full(x syntax.Expr) Expr {
	r.polls = max(r.polls, here)
	return r.expr(x)
}

// negated says how to write the negation of a question about a channel.
var negated = map[string]string{"empty": "nempty", "nempty": "empty", "full": "nfull",
	"nfull": "full"}

// expr resolves an expression, and folds constants.
func (r *resolver) expr(x syntax.Expr) Expr {
	polls := r.polls
	if polls == here {
		r.polls = nowhere
	}
	switch x := x.(type) {
	case *syntax.Const:
		return &Const{x.Value}
	case *syntax.Ref:
		if x.Symbolic {
			return &Const{int32(r.p.Mtypes[x.Name])}
		}
		if pl := r.scalar(x); pl != nil {
			return &Load{pl}
		}
		return zero
	case *syntax.Unary:
		y := r.expr(x.X)
		if c, ok := y.(*Const); ok {
			return &Const{EvalUnary(x.Op, c.Value)}
		}
		return &Unary{x.Op, y}
	case *syntax.Binary:
		joins := x.Op == "&&" || x.Op == "||"
		side := func(y syntax.Expr) Expr {
			if joins && polls == here {
				return r.full(y)
			}
			return r.expr(y)
		}
		a, b := side(x.X), side(x.Y)
		if c, ok := a.(*Const); ok {
			if d, ok := b.(*Const); ok {
				if v, ok := EvalBinary(x.Op, c.Value, d.Value); ok {
					return &Const{v}
				}
			}
		}
		return &Binary{x.Op, a, b, x.Pos}
	case *syntax.Cond:
		return &If{r.expr(x.If), r.expr(x.Then), r.expr(x.Else)}
	case *syntax.Run:
		p := r.procs[x.Name.Text]
		if p == nil {
			var names []string
			for n := range r.procs {
				names = append(names, n)
			}
			r.fail(x.Name.Pos, len(x.Name.Text), "there is no process type %s%s", x.Name.Text,
				spell.DidYouMean(x.Name.Text, names, ""))
			return zero
		}
		if p.Decl.Init {
			r.fail(x.Name.Pos, len(x.Name.Text), "init cannot be run")
		}
		if r.inDStep > 0 {
			r.fail(x.Pos, 3, "run is not allowed in a d_step")
		}
		y := &Run{Proc: p, Pos: x.Pos}
		for i, a := range x.Args {
			if ref, ok := a.(*syntax.Ref); ok && r.lookup(ref) != nil {
				// A structure is an argument for each of its fields.
				if pl := r.place(ref); pl != nil {
					for k := range pl.Count {
						y.Args = append(y.Args, &Load{pl.scalar(k)})
					}
				}
			} else {
				y.Args = append(y.Args, r.expr(a))
			}
			if i < len(p.Params) && len(p.Params) == p.Arity && p.Params[i].Type.Name == "mtype" {
				r.sameKind(a, p.Params[i])
			}
		}
		if len(y.Args) != p.Arity {
			fields := ""
			if p.Arity != len(p.Params) || len(y.Args) != len(x.Args) {
				fields = ", the fields of structures counted"
			}
			r.fail(x.Name.Pos, len(x.Name.Text), "%s has %d parameters, and here %d arguments%s",
				p.Name, p.Arity, len(y.Args), fields)
		}
		if x.Priority != nil {
			y.Priority = r.expr(x.Priority)
			r.p.UsesPriority = true
		}
		return y
	case *syntax.ChanOp:
		if x.Op != "len" && polls == nowhere {
			r.fail(x.Pos, len(x.Op), "%s cannot be a part of this expression, as in SPIN, only a "+
				"condition or a side of && and ||; its negation is %s(%s)", x.Op, negated[x.Op],
				x.Ch.Name)
		}
		return &ChanOp{x.Op, r.chanExpr(x.Ch), x.Pos}
	case *syntax.Poll:
		return &Poll{r.chanExpr(x.Ch), r.recvArgs(x.Args, true), x.Random, x.Pos}
	case *syntax.Call:
		switch x.Name {
		case "enabled":
			r.p.UsesEnabled = true
			if !r.enabled.IsValid() {
				r.enabled = x.Pos
			}
		case "get_priority":
			r.p.UsesPriority = true
		case "pc_value":
			r.fail(x.Pos, len("pc_value"), "pc_value gives the number that SPIN's verifier has "+
				"for a control state, which cpor does not know; put a label at the place and ask "+
				"for it: P[0]@label")
		}
		return &Call{x.Name, r.expr(x.X), x.Pos}
	case *syntax.Special:
		switch x.Name {
		case "_last":
			r.p.UsesLast = true
		case "_nr_pr":
			r.p.UsesNumber = true
		case "timeout":
			r.p.UsesTimeout = true
		case "np_":
			r.p.UsesNonProgress = true
			if r.proc != nil && !r.proc.Decl.Never {
				r.fail(x.Pos, 3, "np_ can be asked only in a never claim")
			}
		}
		return &Special{x.Name}
	case *syntax.Remote:
		return r.remoteRef(x)
	}
	panic(fmt.Sprintf("promela: expression %T", x))
}

// number gives the elements of all process types their numbers, in the order of the
// text.
func (r *resolver) number() {
	all := slices.Concat(r.p.Procs, r.p.Claims)
	if r.p.Trace != nil {
		all = append(all, r.p.Trace)
	}
	// A claim or a trace assertion precedes the next declaration.
	later := func(p *Proc) int {
		if p.Decl.Never || p == r.p.Trace {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b *Proc) int {
		if a.Decl.Known != b.Decl.Known || later(a) != later(b) ||
			a.Decl.Pos.File != b.Decl.Pos.File {
			return cmp.Or(cmp.Compare(a.Decl.Known, b.Decl.Known), cmp.Compare(later(a), later(b)))
		}
		return cmp.Compare(a.Decl.Pos.Off, b.Decl.Pos.Off)
	})
	n := 0
	for i, p := range all {
		p.First, p.Type = n, i
		n += p.Elements
	}
}

func (r *resolver) chanExpr(ref *syntax.Ref) Expr {
	pl := r.scalar(ref)
	if pl == nil {
		return zero
	}
	if pl.Type.Name != "chan" {
		r.fail(ref.Pos, len(ref.Name), "%s is not a channel, it is declared as %s", ref.Name,
			pl.Type.Name)
	}
	return &Load{pl}
}

func (r *resolver) remoteRef(x *syntax.Remote) Expr {
	p := r.procs[x.Proc.Text]
	for _, d := range r.p.Model.Nevers {
		if p == nil && d.Name.Text == x.Proc.Text {
			r.fail(x.Proc.Pos, len(x.Proc.Text), "a claim cannot be inspected")
			return zero
		}
	}
	if p == nil {
		var names []string
		for n := range r.procs {
			names = append(names, n)
		}
		r.fail(x.Proc.Pos, len(x.Proc.Text), "there is no process type %s%s", x.Proc.Text,
			spell.DidYouMean(x.Proc.Text, names, ""))
		return zero
	}
	var pid Expr
	if x.Pid != nil {
		pid = r.expr(x.Pid)
	}
	if x.Label != "" {
		if r.inDStep > 0 {
			r.fail(x.Pos, len(x.Proc.Text), "a d_step cannot ask where another process is, as in "+
				"SPIN; write atomic")
		}
		if p.moved[x.Label] && r.proc != nil {
			delete(p.moved, x.Label)
			r.proc.Elements++
		}
		y := &At{Proc: p, Pid: pid, Label: x.Label}
		r.remote = append(r.remote, func() {
			y.State = p.Labels[x.Label]
			if y.State == nil {
				var names []string
				for n := range p.Labels {
					names = append(names, n)
				}
				r.fail(x.Pos, len(x.Proc.Text), "%s has no label %s%s", p.Name, x.Label,
					spell.DidYouMean(x.Label, names, ""))
			}
		})
		return y
	}
	y := &RemoteLoad{Proc: p, Pid: pid, Place: &Place{Type: basic["byte"], Count: 1}}
	scopes := r.scopes
	r.remote = append(r.remote, func() {
		var s *Sym
		var names []string
		for _, v := range p.Syms {
			names = append(names, v.Name.Text)
			if v.Name.Text == x.Var.Name && s == nil {
				s = v
			}
		}
		if s == nil {
			r.fail(x.Var.Pos, len(x.Var.Name), "%s has no variable %s%s", p.Name, x.Var.Name,
				spell.DidYouMean(x.Var.Name, names, ""))
			return
		}
		s.Remote = true
		r.scopes = scopes
		if pl := r.placeOf(s, x.Var); pl != nil {
			*y.Place = *pl
		}
	})
	return y
}

func (r *resolver) recvArgs(args []syntax.RecvArg, poll bool) []RecvArg {
	var out []RecvArg
	for _, a := range args {
		if a.X == nil {
			out = append(out, RecvArg{})
			continue
		}
		ref, isRef := a.X.(*syntax.Ref)
		if !isRef || a.Eval || ref.Symbolic {
			out = append(out, RecvArg{Match: r.expr(a.X)})
			continue
		}
		pl := r.place(ref)
		if pl == nil {
			continue
		}
		if poll {
			// The variables of a poll match anything, and are not written.
			for range pl.Count {
				out = append(out, RecvArg{})
			}
			continue
		}
		for i := range pl.Count {
			out = append(out, RecvArg{Place: pl.scalar(i)})
		}
	}
	return out
}

// scalar returns the i-th scalar of a place.
func (pl *Place) scalar(i int) *Place {
	if !pl.Type.IsStruct() {
		return pl
	}
	c := *pl
	c.Base += i
	list := appendScalars(nil, pl.Name, pl.Type, false)
	c.Type, c.Name, c.Count = list[i].Type, list[i].Name, 1
	return &c
}

// EvalUnary computes Op x in C's ints.
func EvalUnary(op string, x int32) int32 {
	switch op {
	case "!":
		return b2i(x == 0)
	case "-":
		return -x
	}
	return ^x
}

func b2i(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// EvalBinary computes x op y in C's ints; ok is false for a division by zero.
func EvalBinary(op string, x, y int32) (v int32, ok bool) {
	switch op {
	case "+":
		return x + y, true
	case "-":
		return x - y, true
	case "*":
		return x * y, true
	case "/":
		if y == 0 {
			return 0, false
		}
		if y == -1 {
			return -x, true
		}
		return x / y, true
	case "%":
		if y == 0 {
			return 0, false
		}
		if y == -1 {
			return 0, true
		}
		return x % y, true
	case "&":
		return x & y, true
	case "|":
		return x | y, true
	case "^":
		return x ^ y, true
	case "<<":
		return x << (uint(y) & 31), true
	case ">>":
		return x >> (uint(y) & 31), true
	case "==":
		return b2i(x == y), true
	case "!=":
		return b2i(x != y), true
	case "<":
		return b2i(x < y), true
	case ">":
		return b2i(x > y), true
	case "<=":
		return b2i(x <= y), true
	case ">=":
		return b2i(x >= y), true
	case "&&":
		return b2i(x != 0 && y != 0), true
	case "||":
		return b2i(x != 0 || y != 0), true
	}
	panic("promela: operator " + op)
}
