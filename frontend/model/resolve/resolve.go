package resolve

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/internal/spell"
)

// Options adjust a model.
type Options struct {
	// Params are new values for top-level constants: name to value, as in
	// -D NAME=VALUE. Constants that depend on them follow.
	Params map[string]string
}

// Check parses and resolves a file. The error is a *[source.List] with all mistakes of syntax
// and meaning; statements with syntax errors are not checked any further.
func Check(src *source.File, o Options) (*Program, error) {
	f, perr := syntax.Parse(src)
	if perr == nil {
		return Resolve(f, o)
	}
	var all *source.List
	if !errors.As(perr, &all) {
		return nil, perr
	}
	if len(f.Decls) > 0 {
		_, rerr := Resolve(f, o)
		var more *source.List
		if errors.As(rerr, &more) {
			all.Messages = append(all.Messages, others(f.Source, all, more)...)
		}
	}
	return nil, all.Err()
}

// others returns the messages about meaning on lines without a message about syntax, which would
// be the cause.
func others(src *source.File, syntax, meaning *source.List) []*source.Message {
	lines := map[int]bool{}
	for _, m := range syntax.Messages {
		line, _ := src.Position(m.Pos)
		lines[line] = true
	}
	return slices.DeleteFunc(slices.Clone(meaning.Messages), func(m *source.Message) bool {
		line, _ := src.Position(m.Pos)
		return m.Pos != source.NoPos && lines[line]
	})
}

// Resolve resolves the names and expressions of a parsed file. The error is a *[source.List]. If
// the file has syntax errors, it checks what it can, and returns no program.
func Resolve(f *syntax.File, o Options) (*Program, error) {
	c := &checker{
		file: f, opts: o,
		list: source.List{File: f.Source},
		prog: &Program{
			File:   f,
			Uses:   map[*syntax.Ident]*Object{},
			Types:  map[syntax.Expr]*Type{},
			Const:  map[syntax.Expr]int64{},
			TypeOf: map[syntax.TypeExpr]*Type{},
			Calls:  map[*syntax.CallExpr]CallKind{},
			Refs:   map[syntax.Expr]*ThreadRef{},
			Bounds: map[syntax.Expr]Bounds{},
		},
		value:   map[*Object]*big.Int{},
		big:     map[syntax.Expr]*big.Int{},
		info:    map[*Object]*info{},
		intern:  map[string]*Type{},
		ids:     map[*Type]int{},
		bodies:  map[*Object]*body{},
		atomics: map[*Object]bool{},
	}
	c.universe = c.newUniverse()
	c.top = newScope(c.universe)
	c.scope = c.top
	c.checkFile()
	if err := c.list.Err(); err != nil {
		return nil, err
	}
	if len(f.Broken) > 0 || f.Lost {
		return nil, errors.New(f.Source.Name + ": the file has syntax errors")
	}
	return c.prog, nil
}

// checker is the state of Resolve.
type checker struct {
	file     *syntax.File
	opts     Options
	list     source.List
	prog     *Program
	universe *scope
	top      *scope

	value  map[*Object]*big.Int     // of constants
	big    map[syntax.Expr]*big.Int // of constant expressions
	info   map[*Object]*info        // of top-level objects
	intern map[string]*Type         // types without a name, by structure
	ids    map[*Type]int
	bodies map[*Object]*body
	later  []func() // checks that must wait until all types are known
	delay  bool     // collect into later

	// The context of the current expression or statement.
	scope      *scope
	iota       *big.Int // nil outside of constant declarations
	noEffects  string   // if not "", where we are and effects are not allowed
	sharedInit bool     // in the initial value of a shared variable
	invariant  bool     // in an invariant
	unrolled   int      // copies that the quantifiers around make, 0 if none
	body       *body    // the function, thread or init being checked

	atomics map[*Object]bool // labels that are in atomic blocks
	init    *body
	guarded []guarded
}

// info says how far a top-level object is resolved.
type info struct {
	state state
	decl  syntax.Decl
	index int // in the names of a VarDecl
}

type state uint8

const (
	unknown state = iota
	pending       // being resolved: meeting it again is a cycle
	known
)

// errorf reports a mistake in a node, unless the node contains a name that a statement with a
// syntax error may have declared.
func (c *checker) errorf(n syntax.Node, format string, args ...any) *source.Message {
	if (c.body != nil && c.body.bad || len(c.file.LostNames) > 0) && c.lost(n) {
		return &source.Message{}
	}
	if text := fmt.Sprintf(format, args...); strings.Contains(text, invalidType.String()) {
		return &source.Message{} // a consequence of what was reported of that type
	}
	return c.list.Add(n.Pos(), n.End(), format, args...)
}

// checkFile checks everything, in an order in which each step has what it needs;
// constants, types and the types of shared variables need each other and are
// resolved on demand.
func (c *checker) checkFile() {
	c.delay = true
	c.collect()
	for _, name := range c.file.LostNames {
		if c.top.names[name] == nil {
			c.top.names[name] = &Object{Kind: LostObj, Name: name, Type: invalidType}
		}
	}
	for _, obj := range c.ordered() {
		c.complete(obj)
	}
	c.nameValues()
	c.checkParams()
	c.signatures()
	c.delay = false
	for _, t := range c.intern { // what was found out before all types were known
		t.facts = nil
	}
	for _, obj := range c.top.names {
		if obj.Kind == TypeObj {
			obj.Type.facts = nil
		}
	}
	for i := 0; i < len(c.later); i++ { // later checks may add further ones
		c.later[i]()
	}
	c.later = nil
	c.sharedSize()

	for _, d := range c.file.Decls {
		if c.file.Broken[d] && !c.file.Partial[d] {
			continue
		}
		switch d := d.(type) {
		case *syntax.FuncDecl:
			c.checkBody(c.object(d.Name), d.Body)
		case *syntax.ThreadDecl:
			c.checkBody(c.object(d.Name), d.Body)
		case *syntax.InitDecl:
			if d == c.prog.Init {
				c.checkBody(nil, d.Body)
			}
		}
	}
	c.checkCalls()
	for _, d := range c.file.Decls {
		if d, ok := d.(*syntax.InvariantDecl); ok && !c.file.Broken[d] {
			c.invariant, c.noEffects = true, anInvariant
			c.condition(d.Cond, "the condition of an invariant")
			c.invariant, c.noEffects = false, ""
			c.prog.Invariants = append(c.prog.Invariants, &Invariant{d.Name.Name, d.Pos(), d.Cond})
		}
	}
	c.ltl()
	c.checkGuarded()
	c.checkSymmetry()
	c.checkStarted()
	c.fillConstants()
}

// object returns the top-level object that an identifier declares; a second declaration of the
// same name gets an object of its own.
func (c *checker) object(id *syntax.Ident) *Object { return c.prog.Uses[id] }

// ordered returns the top-level objects in the order of their declarations.
func (c *checker) ordered() []*Object {
	var list []*Object
	for _, obj := range c.top.names {
		list = append(list, obj)
	}
	slices.SortFunc(list, func(a, b *Object) int { return int(a.Pos) - int(b.Pos) })
	return list
}

// collect declares the top-level names.
func (c *checker) collect() {
	for _, d := range c.file.Decls {
		switch d := d.(type) {
		case *syntax.ConstDecl:
			if obj := c.declareTop(ConstObj, d.Name, d, 0); obj != nil {
				c.prog.Consts = append(c.prog.Consts, obj)
			}
		case *syntax.TypeDecl:
			if obj := c.declareTop(TypeObj, d.Name, d, 0); obj != nil {
				obj.Type = &Type{Kind: Invalid, Name: d.Name.Name}
			}
		case *syntax.VarDecl:
			for i, n := range d.Names {
				if obj := c.declareTop(SharedObj, n, d, i); obj != nil {
					obj.Class = d.Class
					c.prog.Shared = append(c.prog.Shared, obj)
				}
			}
		case *syntax.FuncDecl:
			if obj := c.declareTop(FuncObj, d.Name, d, 0); obj != nil {
				obj.Body, obj.Result = d.Body, voidType
				c.prog.Funcs = append(c.prog.Funcs, obj)
			}
		case *syntax.ThreadDecl:
			if obj := c.declareTop(ThreadObj, d.Name, d, 0); obj != nil {
				obj.Body, obj.Used, obj.Symmetric = d.Body, map[string]bool{}, d.Symmetric
				c.prog.Threads = append(c.prog.Threads, obj)
			}
		case *syntax.InvariantDecl:
			c.declareTop(InvariantObj, d.Name, d, 0)
		case *syntax.LTLDecl:
			c.declareTop(LTLObj, d.Name, d, 0)
		case *syntax.InitDecl:
			if c.prog.Init != nil {
				c.list.Add(d.Pos(), d.Pos()+4, "a second init: a model has one").
					Note(c.prog.Init.Pos(), "the first one")
				continue
			}
			c.prog.Init = d
		}
	}
}

func (c *checker) declareTop(k ObjKind, id *syntax.Ident, d syntax.Decl, i int) *Object {
	obj := &Object{Kind: k, Name: id.Name, Pos: id.Pos(), Decl: d}
	if id.Name == "_" {
		if k != ConstObj {
			c.errorf(id, "_ cannot be the name of a declaration at the top level")
		}
		return nil
	}
	c.prog.Uses[id] = obj
	c.info[obj] = &info{decl: d, index: i}
	if old := c.top.names[id.Name]; old != nil {
		c.errorf(id, "%s is declared twice", id.Name).Note(old.Pos, "the other declaration")
	} else {
		c.top.names[id.Name] = obj
	}
	return obj
}

// complete makes sure that a constant's value, a declared type, or a shared
// variable's type is known. It returns false in a cycle.
func (c *checker) complete(obj *Object) bool {
	in := c.info[obj]
	if in == nil || in.state == known {
		return true
	}
	if in.state == pending {
		return false
	}
	in.state = pending
	defer func() { in.state = known }()
	// The object may be needed in the middle of a body: its own context is the top level's.
	scope, iota, noEffects, sharedInit, unrolled, body := c.scope, c.iota, c.noEffects,
		c.sharedInit, c.unrolled, c.body
	c.scope, c.iota, c.noEffects, c.sharedInit, c.unrolled, c.body = c.top, nil, "", false, 0, nil
	defer func() {
		c.scope, c.iota, c.noEffects, c.sharedInit, c.unrolled, c.body = scope, iota, noEffects,
			sharedInit, unrolled, body
	}()
	switch d := in.decl.(type) {
	case *syntax.ConstDecl:
		c.constant(obj, d, true)
	case *syntax.TypeDecl:
		c.declaredType(obj, d)
	case *syntax.VarDecl:
		c.shared(obj, d, in.index)
	}
	return true
}

// constant evaluates a constant declaration.
func (c *checker) constant(obj *Object, d *syntax.ConstDecl, top bool) {
	obj.Type = invalidType
	var t *Type
	if d.Type != nil {
		t = c.typ(d.Type, localPlace)
		if t.Kind != Int && t.Kind != Bool && t.Kind != Invalid {
			c.errorf(d.Type, "a constant cannot have the type %s: constants are integers and bools",
				t)
			t = invalidType
		}
	}
	old := c.iota
	c.iota = big.NewInt(int64(d.Iota))
	x := c.expr(d.Value, t)
	c.iota = old
	switch {
	case x.mode == mInvalid:
		return
	case x.mode != mConst:
		c.errorf(d.Value, "the value of the constant %s is not constant", d.Name.Name)
		return
	case t != nil:
		c.assign(&x, t, "the declaration of "+d.Name.Name)
		if x.mode == mInvalid {
			return
		}
	}
	obj.Type = x.typ
	v := x.val
	if top {
		v = c.override(obj, v)
	}
	c.value[obj] = v
	obj.Value = word(v)
}

// word returns the low 64 bits of a value.
func word(v *big.Int) int64 {
	if v.IsInt64() {
		return v.Int64()
	}
	m := new(big.Int).And(v, new(big.Int).SetUint64(^uint64(0)))
	return int64(m.Uint64())
}

// override returns the value that a parameter gives to a constant, or v.
func (c *checker) override(obj *Object, v *big.Int) *big.Int {
	val, ok := c.opts.Params[obj.Name]
	if !ok {
		return v
	}
	what := fmt.Sprintf("-D %s=%s", obj.Name, val)
	val = strings.TrimSpace(val)
	if obj.Type.isBool() {
		switch val {
		case "true":
			return big.NewInt(1)
		case "false":
			return new(big.Int)
		}
		c.list.Add(source.NoPos, source.NoPos, "%s: %s is a bool: its value is true or false",
			what, obj.Name)
		return v
	}
	var n *big.Int
	if len(val) <= 200 {
		n, _ = new(big.Int).SetString(val, 0)
	}
	if n == nil {
		n = c.named(obj.Type, val)
	}
	switch {
	case n == nil && obj.Type.under != nil:
		var names []string
		for _, o := range c.prog.Consts {
			if o != obj && o.Type == obj.Type && c.info[o] != nil && c.info[o].state == known {
				names = append(names, o.Name)
			}
		}
		of := "the name of a constant of that type"
		if len(names) > 0 {
			of = "one of " + strings.Join(names, ", ")
		}
		c.list.Add(source.NoPos, source.NoPos, "%s: %s is a %s: its value is a number, or %s", what,
			obj.Name, obj.Type, of)
	case n == nil:
		c.list.Add(source.NoPos, source.NoPos, "%s: %s is an integer: its value is a number such "+
			"as 12, -3 or 0x1f", what, obj.Name)
	case obj.Type.Kind == Int && !obj.Type.fits(n):
		c.list.Add(source.NoPos, source.NoPos, "%s: the value is out of range of %s", what,
			obj.Type.limits())
	case n.BitLen() > 64:
		c.list.Add(source.NoPos, source.NoPos, "%s: the value is out of range: no type holds it",
			what)
	default:
		return n
	}
	return v
}

// named returns the value of a declared type's constant with this name; nil if there is none.
func (c *checker) named(t *Type, name string) *big.Int {
	obj := c.top.names[name]
	if obj == nil || obj.Kind != ConstObj || t.under == nil || !c.complete(obj) || obj.Type != t {
		return nil
	}
	return c.value[obj]
}

// nameValues names the values of enumerations: those of the constants of a declared type of
// integers, if a group has two of them or more. Where two have the same value, the first one
// counts. A group that counts with iota is an enumeration of any type, but its values have no
// names.
func (c *checker) nameValues() {
	var group []*Object
	end := func() {
		counts := slices.ContainsFunc(group, func(o *Object) bool {
			_, ok := syntax.Find(o.Decl.(*syntax.ConstDecl).Value, func(id *syntax.Ident) bool {
				return id.Name == "iota"
			})
			return ok
		})
		for i, obj := range group {
			obj.Enum = counts && len(group) > 1
			t := obj.Type
			several := slices.ContainsFunc(group[:i], func(o *Object) bool {
				return o.Type == t
			}) ||
				slices.ContainsFunc(group[i+1:], func(o *Object) bool { return o.Type == t })
			if t.Kind != Int || t.under == nil || !several {
				continue
			}
			obj.Enum = true
			if t.Names == nil {
				t.Names = map[int64]string{}
			}
			if _, ok := t.Names[obj.Value]; !ok {
				t.Names[obj.Value] = obj.Name
			}
		}
		group = group[:0]
	}
	for _, d := range c.file.Decls {
		if d, ok := d.(*syntax.ConstDecl); ok && !c.file.Broken[d] {
			if d.Iota == 0 {
				end()
			}
			if obj := c.top.names[d.Name.Name]; obj != nil && obj.Decl == syntax.Decl(d) {
				group = append(group, obj)
			}
		}
	}
	end()
}

// checkParams reports parameters that name no constant.
func (c *checker) checkParams() {
	if c.file.Lost {
		return
	}
	var names []string
	enums := map[string]*Object{}
	for _, obj := range c.prog.Consts {
		if obj.Enum {
			enums[obj.Name] = obj
		} else {
			names = append(names, obj.Name)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(c.opts.Params)) {
		if slices.Contains(names, p) {
			continue
		}
		m := fmt.Sprintf("-D %s=%s: ", p, c.opts.Params[p])
		switch obj := c.top.names[p]; {
		case enums[p] != nil && enums[p].Type.under != nil:
			m += fmt.Sprintf("%s is a value of the enumeration %s, not a parameter", p,
				enums[p].Type)
		case enums[p] != nil:
			m += fmt.Sprintf("%s is one of the constants of an enumeration, not a parameter", p)
		case obj != nil:
			m += fmt.Sprintf("%s is %s; only constants have parameters", p, kindName(obj.Kind))
		case len(names) == 0 && len(enums) == 0:
			m += "the model declares no constants"
		case len(names) == 0:
			m += "the model declares no constants but those of enumerations"
		default:
			m += "there is no constant " + p
			if s := spell.Nearest(p, names); s != "" {
				m += "; did you mean " + s + "? The"
			} else {
				m += "; the"
			}
			m += " parameters are " + strings.Join(names, ", ")
		}
		c.list.Add(source.NoPos, source.NoPos, "%s", m)
	}
}

// text returns the text of an expression for messages, shortened if long.
func text(n syntax.Node) string {
	s := syntax.String(n)
	if r := []rune(s); len(r) > 60 {
		return string(r[:57]) + "..."
	}
	return s
}

func kindName(k ObjKind) string {
	return [...]string{
		ConstObj: "a constant", TypeObj: "a type", SharedObj: "a shared variable",
		LocalObj: "a local variable", LostObj: "unknown", QuantObj: "the variable of a quantifier",
		FuncObj: "a function", ThreadObj: "a thread", BuiltinObj: "a built-in function",
		InvariantObj: "an invariant", LabelObj: "a label", LTLObj: "an ltl property",
	}[k]
}

// undefined reports a name that is not declared. want selects candidates for the suggestion;
// what says what kind of name it is.
func (c *checker) undefined(id *syntax.Ident, what string, want func(*Object) bool) {
	if c.file.Lost || c.body != nil && c.body.unnamed || id.Name == "_" {
		if id.Name == "_" {
			c.errorf(id, "_ has no value")
		}
		return // it may be what could not be read
	}
	if a := advice[id.Name]; a != "" {
		c.errorf(id, "undefined: %s; %s", id.Name, a)
		return
	}
	var names []string
	for s := c.scope; s != nil; s = s.outer {
		for n, obj := range s.names {
			if want(obj) {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	if s := spell.Nearest(id.Name, names); s != "" {
		c.errorf(id, "undefined: %s; did you mean %s?", id.Name, s)
		return
	}
	if what != "" {
		c.errorf(id, "undefined: %s; there is no %s of this name", id.Name, what)
		return
	}
	c.errorf(id, "undefined: %s", id.Name)
}

// signatures resolves the parameters and results of functions and threads.
func (c *checker) signatures() {
	for _, d := range c.file.Decls {
		switch d := d.(type) {
		case *syntax.FuncDecl:
			obj := c.object(d.Name)
			if obj == nil {
				continue
			}
			obj.Params = c.params(obj, d.Params)
			var results []Field
			for _, r := range d.Results {
				t := c.typ(r, localPlace)
				switch t.Kind {
				case Struct, Array:
					c.localType(r, t, "a result")
				default:
					if !t.IsScalar() {
						c.errorf(r, "a function cannot return %s: results are bools, integers, "+
							"pointers, structs and arrays", c.describe(t))
						t = invalidType
					}
				}
				results = append(results, Field{Type: t})
			}
			switch len(results) {
			case 0:
				obj.Result = voidType
			case 1:
				obj.Result = results[0].Type
			default:
				obj.Result = &Type{Kind: Tuple, Fields: results}
			}
		case *syntax.ThreadDecl:
			if obj := c.object(d.Name); obj != nil {
				obj.Params = c.params(obj, d.Params)
			}
		}
	}
}

func (c *checker) params(owner *Object, list []*syntax.Param) []*Object {
	var objs []*Object
	seen := map[string]*Object{}
	for _, p := range list {
		obj := &Object{Kind: LocalObj, Name: p.Name.Name, Pos: p.Name.Pos(), Decl: p, Owner: owner}
		obj.Type = c.typ(p.Type, localPlace)
		c.localType(p.Type, obj.Type, "a parameter")
		if old := seen[obj.Name]; old != nil && obj.Name != "_" {
			c.errorf(p.Name, "the parameter %s is declared twice", obj.Name).Note(old.Pos,
				"the other declaration")
		}
		seen[obj.Name] = obj
		c.prog.Uses[p.Name] = obj
		objs = append(objs, obj)
	}
	return objs
}

// sharedSize reports a shared part of the state that is too large.
func (c *checker) sharedSize() {
	n := 0
	for _, obj := range c.prog.Shared {
		if obj.Type == nil {
			continue
		}
		k := obj.Type.cells()
		if k > maxCells {
			return // told where the type is written
		}
		if n += k; n > maxCells {
			c.list.Add(obj.Pos, obj.Pos+source.Pos(len(obj.Name)),
				"the state is too large: with %s the shared variables have more than %d elements",
				obj.Name, maxCells)
			return
		}
	}
}

// checkStarted reports a model in which nothing can happen.
func (c *checker) checkStarted() {
	init := c.prog.Init
	switch {
	case c.file.Lost || init != nil && c.file.Broken[init]:
	case init == nil && len(c.prog.Threads) == 0:
		c.list.Add(source.NoPos, source.NoPos, "no thread is ever started: the file declares no "+
			"thread and no init")
	case init == nil:
		t := c.prog.Threads[0].Name
		c.list.Add(source.NoPos, source.NoPos, "no thread is ever started: there is no init; add "+
			"init { go %s(...) }", t)
	case !c.starts(c.init, map[*body]bool{}):
		c.list.Add(init.Pos(), init.Pos()+4,
			"no thread is ever started: there is no go statement in init or in a function that "+
				"it calls")
	}
}

func (c *checker) starts(b *body, seen map[*body]bool) bool {
	if b == nil || seen[b] {
		return b == nil // a body with syntax errors may do anything
	}
	seen[b] = true
	if b.gos || b.bad {
		return true
	}
	for _, call := range b.calls {
		if c.starts(c.bodies[call.callee], seen) {
			return true
		}
	}
	return false
}

// checkCalls checks functions against their callers.
func (c *checker) checkCalls() {
	c.checkRecursion()
	c.checkAssumes()
	c.checkRendezvous()
}

// checkRecursion reports functions that call themselves, directly or through others.
func (c *checker) checkRecursion() {
	done := map[*Object]bool{}
	var path []*Object
	var visit func(obj *Object)
	visit = func(obj *Object) {
		b := c.bodies[obj]
		if done[obj] || b == nil {
			return
		}
		path = append(path, obj)
		for _, call := range b.calls {
			if i := slices.Index(path, call.callee); i >= 0 {
				var names []string
				for _, o := range append(slices.Clone(path[i:]), call.callee) {
					names = append(names, o.Name)
				}
				c.list.Add(call.from, call.to, "recursion %s: a thread's state has a fixed "+
					"layout; use a loop", strings.Join(names, " -> "))
				continue
			}
			visit(call.callee)
		}
		path = path[:len(path)-1]
		done[obj] = true
	}
	for _, f := range c.prog.Funcs {
		visit(f)
	}
}

// checkRendezvous reports functions with unbuffered channels that are called in atomic blocks.
func (c *checker) checkRendezvous() {
	// meets returns an operation on an unbuffered channel that a call leads to.
	var meets func(obj *Object, seen map[*Object]bool) (source.Pos, bool)
	meets = func(obj *Object, seen map[*Object]bool) (source.Pos, bool) {
		b := c.bodies[obj]
		if b == nil || seen[obj] {
			return 0, false
		}
		seen[obj] = true
		if b.meets != source.NoPos {
			return b.meets, true
		}
		for _, call := range b.calls {
			if !call.atomic { // else it is reported there
				if p, ok := meets(call.callee, seen); ok {
					return p, true
				}
			}
		}
		return 0, false
	}
	report := func(b *body) {
		for _, call := range b.calls {
			if !call.atomic {
				continue
			}
			if p, ok := meets(call.callee, map[*Object]bool{}); ok {
				where := "in an atomic block"
				if b == c.init {
					where = "in init, which runs before the threads"
				}
				c.list.Add(call.from, call.to, "%s uses an unbuffered channel: it cannot be "+
					"called %s", call.callee.Name, where).
					Note(p, "the use")
			}
		}
	}
	for _, obj := range append(slices.Clone(c.prog.Funcs), c.prog.Threads...) {
		if b := c.bodies[obj]; b != nil {
			report(b)
		}
	}
	if c.init != nil {
		report(c.init)
	}
}

// checkAssumes reports threads that call functions with an assume.
func (c *checker) checkAssumes() {
	told := map[syntax.Node]bool{}
	var assumes func(thread *Object, b *body, seen map[*body]bool)
	assumes = func(thread *Object, b *body, seen map[*body]bool) {
		if b == nil || seen[b] {
			return
		}
		seen[b] = true
		if b.assumes != nil && !told[b.assumes] {
			told[b.assumes] = true
			c.errorf(b.assumes, "assume is allowed only in init, and the thread %s calls %s: a "+
				"thread waits with await", thread.Name, b.obj.Name)
		}
		for _, call := range b.calls {
			assumes(thread, c.bodies[call.callee], seen)
		}
	}
	for _, t := range c.prog.Threads {
		if b := c.bodies[t]; b != nil {
			for _, call := range b.calls {
				assumes(t, c.bodies[call.callee], map[*body]bool{})
			}
		}
	}
}

// fillConstants writes the values of constant expressions into the program.
func (c *checker) fillConstants() {
	for e, v := range c.big {
		if v.BitLen() <= 64 {
			c.prog.Const[e] = word(v)
		}
	}
}
