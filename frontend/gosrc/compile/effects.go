package compile

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// What an abandoned initializer would still have done.
//
// It overestimates. A function may be called if its name occurs in what may be executed, or if
// it exists as a value already: then it is in Program.funcOf, since the function that made the
// value was compiled. The same holds for methods and the types whose values are in interfaces. A
// variable may be changed if something is stored in it, or in what it refers to, or if what it
// refers to flows elsewhere: into a result, another variable, a call that may change it. Of the
// variables of the standard library only those count that are assigned directly, or by one of
// the functions meant to change them ([registers]): the others are caches.

// registers are the functions of the standard library that change the state of a package.
var registers = strings.Fields(`
	archive/zip.RegisterCompressor archive/zip.RegisterDecompressor crypto.RegisterHash database/sql.Register
	encoding/gob.Register encoding/gob.RegisterName
	expvar.Publish expvar.NewInt expvar.NewFloat expvar.NewMap expvar.NewString
	flag.Var flag.Bool flag.BoolVar flag.BoolFunc flag.Duration flag.DurationVar flag.Float64 flag.Float64Var flag.Func flag.Int
	flag.Int64 flag.Int64Var flag.IntVar flag.String flag.StringVar flag.TextVar flag.Uint flag.Uint64 flag.Uint64Var flag.UintVar flag.Set
	flag.Parse image.RegisterFormat log.SetFlags log.SetOutput log.SetPrefix log/slog.SetDefault log/slog.SetLogLoggerLevel
	math/rand.Seed mime.AddExtensionType net/http.Handle net/http.HandleFunc net/rpc.Register net/rpc.RegisterName net/rpc.HandleHTTP
	os.Setenv os.Unsetenv os.Clearenv os.Chdir`)

// Effects returns the variables that the instructions after one of a function may change, and
// that whole functions may, with everything they call. Without an instruction the function
// counts as a whole, too.
func (p *Program) Effects(rest *Func, behind int32, whole []*Func) []*ssa.Global {
	e := &effects{p: p, seen: map[*ssa.Function]bool{}, found: map[*ssa.Global]bool{},
		methods: map[string][]*ssa.Function{}, changing: map[parameter]bool{},
		within: map[*types.Package]bool{}}
	for _, f := range whole {
		e.call(f.SSA)
	}
	if rest != nil {
		e.seen[rest.SSA] = true
		e.behind(rest.SSA, rest.points[behind])
	}
	for len(e.todo) > 0 {
		f := e.todo[len(e.todo)-1]
		e.todo = e.todo[:len(e.todo)-1]
		blocks := e.blocks(f)
		if len(blocks) == 0 {
			e.unknown(f)
		}
		for _, b := range blocks {
			e.instructions(b.Instrs)
		}
	}
	var out []*ssa.Global
	for g := range e.found {
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *ssa.Global) int {
		return strings.Compare(a.String(), b.String())
	})
	return out
}

// Number returns the number of a variable among the globals; ok is false if it has none.
func (p *Program) Number(g *ssa.Global) (n int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok = p.globals[g]
	return n, ok
}

type effects struct {
	p       *Program
	seen    map[*ssa.Function]bool
	todo    []*ssa.Function
	found   map[*ssa.Global]bool
	methods map[string][]*ssa.Function // by name
	// What is known about parameters.
	changing map[parameter]bool
	// Packages of the standard library that are examined, because one of their functions
	// registers something.
	within map[*types.Package]bool
}

func (e *effects) blocks(f *ssa.Function) []*ssa.BasicBlock {
	if f.Pkg != nil {
		f.Pkg.Build()
	}
	if o := f.Origin(); o != nil && o.Pkg != nil {
		o.Pkg.Build()
	}
	return f.Blocks
}

// behind examines what may be executed after an instruction.
func (e *effects) behind(f *ssa.Function, at ssa.Instruction) {
	blocks := e.blocks(f)
	if at == nil {
		for _, b := range blocks {
			e.instructions(b.Instrs)
		}
		return
	}
	b := at.Block()
	if i := slices.Index(b.Instrs, at); i >= 0 {
		e.instructions(b.Instrs[i+1:])
	}
	seen := map[*ssa.BasicBlock]bool{}
	next := slices.Clone(b.Succs)
	for len(next) > 0 {
		b := next[0]
		if next = next[1:]; !seen[b] {
			seen[b] = true
			e.instructions(b.Instrs)
			next = append(next, b.Succs...)
		}
	}
}

// call records that a function may be called.
func (e *effects) call(f *ssa.Function) {
	if f == nil || e.seen[f] || f.Synthetic == "package initializer" {
		return
	}
	e.seen[f] = true
	if pkg := packageOf(f); pkg != nil && e.p.Standard(pkg) {
		if slices.Contains(registers, pkg.Path()+"."+f.Name()) {
			e.within[pkg] = true
		}
		if !e.within[pkg] {
			return
		}
	}
	e.todo = append(e.todo, f)
}

// unknown records that a function without a body may be called: it calls C, or is not written in
// Go. It may change the variables of its package and of those it imports; of the standard
// library, what is registered.
func (e *effects) unknown(f *ssa.Function) {
	pkg := packageOf(f)
	if pkg == nil || e.p.Standard(pkg) {
		return
	}
	for _, x := range append(pkg.Imports(), pkg) {
		if e.p.Standard(x) && !slices.Contains([]string{"crypto", "database/sql", "encoding/gob",
			"expvar", "image", "net/http"}, x.Path()) {
			continue
		}
		if s := e.p.SSA.Package(x); s != nil {
			for _, m := range s.Members {
				if g, ok := m.(*ssa.Global); ok {
					e.changed(g)
				}
			}
		}
	}
}

func (e *effects) instructions(is []ssa.Instruction) {
	for _, i := range is {
		for _, o := range i.Operands(nil) {
			if f, ok := (*o).(*ssa.Function); ok {
				e.call(f)
			}
		}
		switch i := i.(type) {
		case *ssa.Store:
			e.changed(i.Addr)
			e.escapes(i.Val)
		case *ssa.MapUpdate:
			e.changed(i.Map)
			e.escapes(i.Key)
			e.escapes(i.Value)
		case *ssa.Send:
			e.changed(i.Chan)
			e.escapes(i.X)
		case *ssa.MakeClosure:
			for _, v := range i.Bindings {
				e.escapes(v)
			}
		case *ssa.Return:
			for _, v := range i.Results {
				e.escapes(v)
			}
		case ssa.CallInstruction:
			e.common(i.Common())
		}
	}
}

func (e *effects) common(c *ssa.CallCommon) {
	if b, ok := c.Value.(*ssa.Builtin); ok {
		switch b.Name() {
		case "append", "clear", "close", "copy", "delete":
			e.changed(c.Args[0])
		}
		return
	}
	var callees []*ssa.Function
	switch f := c.StaticCallee(); {
	case c.IsInvoke():
		callees = e.invoke(c.Method.Name())
		e.passed(c.Value, callees, 0)
	case f == nil:
		e.escapes(c.Value)
		callees = e.value(c.Signature())
	default:
		callees = []*ssa.Function{f}
	}
	for k, a := range c.Args {
		if c.IsInvoke() {
			k++
		}
		e.passed(a, callees, k)
	}
}

// passed notes that a value is an argument of a call of one of some functions.
func (e *effects) passed(v ssa.Value, callees []*ssa.Function, k int) {
	if refers(v.Type(), 0) && slices.ContainsFunc(callees, func(f *ssa.Function) bool {
		return e.changes(parameter{f, k})
	}) {
		e.escapes(v)
	}
}

// parameter is a parameter of a function, the receiver included.
type parameter struct {
	f *ssa.Function
	k int
}

// changes reports whether a function may change what a parameter refers to, or pass it where it
// is not followed.
func (e *effects) changes(p parameter) bool {
	if c, ok := e.changing[p]; ok {
		return c
	}
	// the default: recursive calls alone change nothing
	e.changing[p] = false
	c := len(e.blocks(p.f)) == 0 || p.k >= len(p.f.Params) ||
		e.used(p.f.Params[p.k], map[ssa.Value]bool{})
	e.changing[p] = c
	return c
}

// used is changes for a value of a function that comes from the parameter.
func (e *effects) used(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] || v.Referrers() == nil {
		return false
	}
	seen[v] = true
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.Store:
			if i.Addr == v || refers(v.Type(), 0) {
				return true
			}
		case *ssa.MapUpdate, *ssa.Send, *ssa.MakeClosure, *ssa.Return, *ssa.Select:
			if refers(v.Type(), 0) {
				return true
			}
		case ssa.CallInstruction:
			if e.usedBy(i.Common(), v) {
				return true
			}
		case *ssa.DebugRef, *ssa.If, *ssa.BinOp, *ssa.Panic:
		case ssa.Value: // something that comes from it
			if _, address := i.Type().Underlying().(*types.Pointer); (address ||
				refers(i.Type(), 0)) && e.used(i, seen) {
				return true
			}
			if t, ok := i.(*ssa.Next); ok && e.used(t, seen) {
				return true
			}
		}
	}
	return false
}

// usedBy is used for a call with the value.
func (e *effects) usedBy(c *ssa.CallCommon, v ssa.Value) bool {
	if b, ok := c.Value.(*ssa.Builtin); ok {
		switch b.Name() {
		case "append", "clear", "close", "copy", "delete":
			return c.Args[0] == v
		}
		return false
	}
	if !refers(v.Type(), 0) {
		return false
	}
	var callees []*ssa.Function
	first := 0
	switch f := c.StaticCallee(); {
	case c.IsInvoke():
		callees, first = e.named(c.Method.Name()), 1
		if c.Value == v && e.anyChanges(callees, 0) {
			return true
		}
	case f == nil:
		return true
	default:
		callees = []*ssa.Function{f}
	}
	for k, a := range c.Args {
		if a == v && e.anyChanges(callees, first+k) {
			return true
		}
	}
	return false
}

// anyChanges tells whether one of the functions changes what parameter k refers to.
func (e *effects) anyChanges(fns []*ssa.Function, k int) bool {
	return slices.ContainsFunc(fns, func(f *ssa.Function) bool {
		return e.changes(parameter{f, k})
	})
}

// invoke records a call of a method of an unknown type, and returns which it may be.
func (e *effects) invoke(name string) []*ssa.Function {
	fs := e.named(name)
	for _, f := range fs {
		e.call(f)
	}
	return fs
}

// named returns the methods of that name of all types known so far.
func (e *effects) named(name string) []*ssa.Function {
	if fs, ok := e.methods[name]; ok {
		return fs
	}
	var fs []*ssa.Function
	list := *e.p.typeList.Load()
	e.p.mu.Lock()
	for _, t := range list[1:] {
		if t == nil || types.IsInterface(t.T) {
			continue
		}
		set := e.p.SSA.MethodSets.MethodSet(t.T)
		for i := range set.Len() {
			if sel := set.At(i); sel.Obj().Name() == name && !types.IsInterface(sel.Recv()) {
				if f := e.p.SSA.MethodValue(sel); f != nil {
					fs = append(fs, f)
				}
			}
		}
	}
	e.p.mu.Unlock()
	e.methods[name] = fs
	return fs
}

// value records a call of an unknown function, and returns which it may be.
func (e *effects) value(sig *types.Signature) []*ssa.Function {
	e.p.mu.Lock()
	var fs []*ssa.Function
	for f := range e.p.funcOf {
		if f != nil && f.Signature.Recv() == nil && !strings.HasPrefix(f.Name(), "init#") &&
			types.Identical(f.Signature, sig) {
			fs = append(fs, f)
		}
	}
	e.p.mu.Unlock()
	for _, f := range fs {
		e.call(f)
	}
	return fs
}

// changed records that what a value refers to may be changed.
func (e *effects) changed(v ssa.Value) {
	e.roots(v, map[ssa.Value]bool{}, func(g *ssa.Global) {
		if g.Name() != "init$guard" {
			e.found[g] = true
		}
	})
}

// escapes records that a value flows where it is not followed.
func (e *effects) escapes(v ssa.Value) {
	if !refers(v.Type(), 0) {
		return
	}
	e.roots(v, map[ssa.Value]bool{}, func(g *ssa.Global) {
		if g.Pkg != nil && (!e.p.Standard(g.Pkg.Pkg) || e.within[g.Pkg.Pkg]) {
			e.found[g] = true
		}
	})
}

// refers reports whether something can be changed through a value of a type.
func refers(t types.Type, depth int) bool {
	switch types.TypeString(t, nil) {
	case "error", "reflect.Type", "*os.File", "*sync.Pool":
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Signature:
		return false
	case *types.Struct:
		for f := range u.Fields() {
			if depth > 8 || refers(f.Type(), depth+1) {
				return true
			}
		}
		return false
	case *types.Array:
		return depth > 8 || refers(u.Elem(), depth+1)
	}
	return true
}

// roots calls f for the variables that a value, or the address of what is changed, comes from.
func (e *effects) roots(v ssa.Value, seen map[ssa.Value]bool, f func(*ssa.Global)) {
	if v == nil || seen[v] {
		return
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Global:
		f(v)
	case *ssa.Phi:
		for _, x := range v.Edges {
			e.roots(x, seen, f)
		}
	case *ssa.FieldAddr:
		e.roots(v.X, seen, f)
	case *ssa.IndexAddr:
		e.roots(v.X, seen, f)
	case *ssa.UnOp:
		e.roots(v.X, seen, f)
	case *ssa.Field:
		e.roots(v.X, seen, f)
	case *ssa.Index:
		e.roots(v.X, seen, f)
	case *ssa.Slice:
		e.roots(v.X, seen, f)
	case *ssa.ChangeType:
		e.roots(v.X, seen, f)
	case *ssa.Convert:
		e.roots(v.X, seen, f)
	case *ssa.ChangeInterface:
		e.roots(v.X, seen, f)
	case *ssa.MakeInterface:
		e.roots(v.X, seen, f)
	case *ssa.SliceToArrayPointer:
		e.roots(v.X, seen, f)
	case *ssa.TypeAssert:
		e.roots(v.X, seen, f)
	case *ssa.Extract:
		e.roots(v.Tuple, seen, f)
	case *ssa.Lookup:
		e.roots(v.X, seen, f)
	case *ssa.Next:
		e.roots(v.Iter, seen, f)
	case *ssa.Range:
		e.roots(v.X, seen, f)
	}
}
