// Package compile translates functions in SSA form into instructions for package machine, each
// when it is called for the first time.
package compile

import (
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/types/typeutil"

	"cpor/frontend/gosrc/loader"
	"cpor/frontend/gosrc/std"
	"cpor/system"
)

// Mode says what, besides synchronization, is a transition of its own.
type Mode struct {
	AnyOrder bool // each step of a loop over a map is a choice among the keys that are left
	Memory   bool // each access to memory that others can reach is a transition of its own
}

// Program is what is shared by all machines. Its methods may be called from many
// goroutines at once.
type Program struct {
	*loader.Program
	// Strings numbers all strings; the empty one is 0.
	Strings system.Names[string]
	Mode
	// Globals are the variables of packages; variable i is object i+1.
	Globals []Global

	mu         sync.Mutex
	types      typeutil.Map
	typeList   atomic.Pointer[[]*Type]
	referring  []*Type // by typeOf: what they refer to is to be laid out
	globals    map[*ssa.Global]int
	funcOf     map[*ssa.Function]*Func
	funcs      atomic.Pointer[[]*Func]
	implements *xsync.MapOf[uint64, bool]
	methods    *xsync.MapOf[methodKey, *Func]
	shown      *xsync.MapOf[uint32, []*types.Func]
	calm       *xsync.MapOf[calmKey, Calm]
	native     func(name string) (number int, sync, ok bool)
	synthetics map[string]*Func
	iterator   *Type // of a range over a map: the map and a position
}

type methodKey struct {
	t      uint32
	method *types.Func
}

// Global is a variable of a package.
type Global struct {
	SSA     *ssa.Global
	Type    *Type
	Missing bool // of a package that is not interpreted
}

// New prepares a program; native finds the functions that the machine implements.
func New(l *loader.Program, mode Mode, native func(name string) (number int, sync,
	ok bool)) *Program {
	p := &Program{
		Program: l, native: native, Mode: mode,
		globals:    map[*ssa.Global]int{},
		synthetics: map[string]*Func{},
		funcOf:     map[*ssa.Function]*Func{},
		implements: xsync.NewMapOf[uint64, bool](),
		methods:    xsync.NewMapOf[methodKey, *Func](),
		shown:      xsync.NewMapOf[uint32, []*types.Func](),
		calm:       xsync.NewMapOf[calmKey, Calm](),
	}
	p.iterator = &Type{T: types.Typ[types.Invalid], Kind: Iterator, Size: 2,
		Refs: []Ref{{0, RefPointer}}}
	p.types.SetHasher(typeutil.MakeHasher())
	p.typeList.Store(&[]*Type{nil})
	p.funcs.Store(&[]*Func{})
	p.Strings.Number("")
	for _, pkg := range l.All {
		for _, m := range sortedMembers(pkg) {
			g, ok := m.(*ssa.Global)
			if !ok {
				continue
			}
			missing := l.Mode(pkg.Pkg) == std.Stub && !l.Ours(g.Pos()) &&
				g.Name() != "init$guard" && !std.Zero(pkg.Pkg.Path())
			if missing {
				p.globals[g] = -1
				continue
			}
			p.globals[g] = len(p.Globals)
			p.Globals = append(p.Globals,
				Global{SSA: g, Type: p.TypeOf(g.Type().(*types.Pointer).Elem())})
		}
	}
	return p
}

// Func is a function.
type Func struct {
	SSA   *ssa.Function
	Index int
	Name  string
	// Params and Results are the words of parameters and results; the frame begins
	// with the parameters, then come what it captured and the other registers.
	Params, Results int
	ParamTypes      []*Type
	ResultTypes     []*Type
	Captured        []*Type
	Untracked       bool // its accesses to memory are neither recorded nor checked
	Hidden          bool // of the standard library: not shown if its caller can be

	emit func(*compiler) // of a synthetic function

	once  sync.Once
	ready atomic.Bool
	// The following fields are set when Ready has returned.
	Code    []Instr
	Pos     []token.Pos // by instruction
	Regs    int         // words of registers, constants not counted
	Consts  []uint64
	Types   []*Type
	Calls   []Call
	Moves   [][]Move
	Selects []Select
	Texts   []string
	Recover int32 // where a recovered function continues; -1: it returns zeroes
	Defers  int32 // the register of the defer cell; -1 if there is none
	values  []valueSlot
	points  map[int32]ssa.Instruction
	made    map[int32]ssa.Value // what instructions allocate
	live    livenessCache

	registers []Slot // of a synthetic function
}

// Move copies words between registers, or from registers of one frame to those
// of another.
type Move struct{ From, To, Size int32 }

// Call is what a call instruction needs.
type Call struct {
	Func   *Func       // static
	Method *types.Func // of an interface
	Args   []Move      // to the frame of the callee, without the receiver of an interface method
	Value  int32       // the register of a function value or interface
	Words  int         // of all arguments
	Types  []*Type     // of the arguments
	Result int         // words
	Name   string      // for people
}

// Select is what a select instruction needs.
type Select struct {
	Cases   []Case
	Default bool
	Recv    []int32 // by case: the offset of the received value in the result, -1
}

// Case is a case of a select.
type Case struct {
	Send  bool
	Chan  int32 // register
	Value int32 // register of the value to send
	Type  *Type // of the elements
	Pos   token.Pos
}

// FuncOf returns the function of an SSA function.
func (p *Program) FuncOf(f *ssa.Function) *Func {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.funcLocked(f)
}

func (p *Program) funcLocked(f *ssa.Function) *Func {
	if x := p.funcOf[f]; x != nil {
		return x
	}
	x := &Func{SSA: f, Name: funcName(f), Recover: -1, Defers: -1}
	for _, v := range f.Params {
		t := p.typeOf(v.Type())
		x.ParamTypes = append(x.ParamTypes, t)
		x.Params += t.Size
	}
	if len(f.Params) == 0 { // without a body
		if r := f.Signature.Recv(); r != nil {
			t := p.typeOf(r.Type())
			x.ParamTypes = append(x.ParamTypes, t)
			x.Params += t.Size
		}
		for i := range f.Signature.Params().Len() {
			t := p.typeOf(f.Signature.Params().At(i).Type())
			x.ParamTypes = append(x.ParamTypes, t)
			x.Params += t.Size
		}
	}
	for i := range f.Signature.Results().Len() {
		t := p.typeOf(f.Signature.Results().At(i).Type())
		x.ResultTypes = append(x.ResultTypes, t)
		x.Results += t.Size
	}
	for _, v := range f.FreeVars {
		x.Captured = append(x.Captured, p.typeOf(v.Type()))
	}
	if pkg := packageOf(f); pkg != nil {
		x.Hidden = p.Standard(pkg)
		switch pkg.Path() {
		case "sync", "sync/atomic", "internal/cpor", "testing", "testing/synctest", std.Check,
			"fmt", "time", "log", "runtime", "math/rand", "math/rand/v2", "os", "iter", "unique",
			"net":
			x.Untracked = p.Ours(f.Pos()) || f.Syntax() == nil
		}
	}
	old := *p.funcs.Load()
	x.Index = len(old)
	list := append(old, x) // readers see a shorter part of the same array
	p.funcs.Store(&list)
	p.funcOf[f] = x
	return x
}

// packageOf returns the package of a function; for generic ones that of their declaration.
func packageOf(f *ssa.Function) *types.Package {
	for f.Parent() != nil {
		f = f.Parent()
	}
	if f.Pkg != nil {
		return f.Pkg.Pkg
	}
	if o := f.Origin(); o != nil && o != f {
		return packageOf(o)
	}
	if obj := f.Object(); obj != nil {
		return obj.Pkg()
	}
	return nil
}

// RuntimeName returns the name that package runtime has for the function: path.F,
// path.(*T).M, path.F.func1.2, with [...] for the arguments of types. The path of a program
// is main.
func (f *Func) RuntimeName() string {
	name := f.runtimeName()
	if pkg := packageOf(f.SSA); pkg != nil && pkg.Name() == "main" {
		if rest, ok := strings.CutPrefix(name, pkg.Path()+"."); ok {
			return "main." + rest
		}
	}
	return name
}

func (f *Func) runtimeName() string {
	s := f.SSA.RelString(nil)
	recv, rest, method := "", s, false
	if strings.HasPrefix(s, "(") {
		if i := strings.LastIndex(s, ")."); i > 0 {
			recv, rest, method = s[1:i], s[i+1:], true
		}
	}
	rest, closures, _ := strings.Cut(strings.ReplaceAll(rest, "$bound", ""), "$")
	if closures != "" {
		closures = ".func" + strings.ReplaceAll(closures, "$", ".")
	}
	dots := func(s string) string {
		if i := strings.Index(s, "["); i >= 0 {
			return s[:i] + "[...]"
		}
		return s
	}
	if !method {
		return dots(rest) + closures
	}
	name, star := strings.CutPrefix(recv, "*")
	if pkg := packageOf(f.SSA); pkg != nil {
		if t, ok := strings.CutPrefix(name, pkg.Path()+"."); ok {
			if t = dots(t); star {
				t = "(*" + t + ")"
			}
			return pkg.Path() + "." + t + rest + closures
		}
	}
	return s
}

// Wraps reports whether the function was made by the compiler to call another one: stacks do not
// show it.
func (f *Func) Wraps() bool {
	s := f.SSA.Synthetic
	return strings.HasPrefix(s, "wrapper") || strings.HasPrefix(s, "bound") ||
		strings.HasPrefix(s, "thunk")
}

// CodeOf returns the function that represents the code of f: for a method value, which has its
// own function at each place, the method.
func (p *Program) CodeOf(f *Func) *Func {
	if !f.Wraps() || f.SSA.Object() == nil {
		return f
	}
	p.mu.Lock()
	method := p.SSA.FuncValue(f.SSA.Object().(*types.Func))
	p.mu.Unlock()
	if method == nil || method.TypeParams().Len() > 0 {
		return f // of an interface, or generic
	}
	return p.FuncOf(method)
}

// Helps reports whether a function calls the method Helper of a test, so that failures are
// attributed to its caller.
func (f *Func) Helps() bool {
	for _, b := range f.SSA.Blocks {
		for _, i := range b.Instrs {
			c, ok := i.(ssa.CallInstruction)
			if !ok {
				continue
			}
			if m := c.Common().Method; m != nil && m.Name() == "Helper" {
				return true
			}
			if x := c.Common().StaticCallee(); x != nil && x.Name() == "Helper" && x.Pkg != nil &&
				x.Pkg.Pkg.Path() == "testing" {
				return true
			}
		}
	}
	return false
}

// FuncByIndex returns the function of that number.
func (p *Program) FuncByIndex(i uint64) *Func { return (*p.funcs.Load())[i] }

// NumFuncs returns how many functions have numbers.
func (p *Program) NumFuncs() int { return len(*p.funcs.Load()) }

// Text returns the string of that number.
func (p *Program) Text(s uint64) string { return p.Strings.Name(uint32(s)) }

// String returns the number of a string.
func (p *Program) String(s string) uint64 { return uint64(p.Strings.Number(s)) }

// paths are the elements of paths of packages but for the last one.
var paths = regexp.MustCompile(`[^\s()*\[\],/]+/`)

// funcName returns the name of a function as it appears in stacks: pkg.F, pkg.(*T).M,
// pkg.F.func1.
func funcName(f *ssa.Function) string {
	// Only the last elements of package paths are kept.
	s := paths.ReplaceAllString(f.RelString(nil), "")
	return strings.ReplaceAll(strings.ReplaceAll(s, "$bound", ""), "$", ".func")
}

// Lookup returns a function of a package by import path and name, nil if there is
// none.
func (p *Program) Lookup(path, name string) *Func {
	for _, pkg := range p.All {
		if pkg.Pkg.Path() == path {
			if f := pkg.Func(name); f != nil {
				return p.FuncOf(f)
			}
		}
	}
	return nil
}

// Always returns the packages that every program has.
func (p *Program) Always() []*ssa.Package {
	var out []*ssa.Package
	for _, pkg := range p.All {
		for _, path := range std.Always {
			if pkg.Pkg.Path() == path {
				out = append(out, pkg)
			}
		}
	}
	return out
}
