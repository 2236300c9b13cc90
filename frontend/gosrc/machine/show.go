package machine

import (
	"cmp"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// posOf returns the place of an instruction; the file is relative to the working
// directory if it lies below it.
func (m *Machine) posOf(t token) system.Pos {
	if t.fn == nil || int(t.pc) >= len(t.fn.Pos) {
		return system.Pos{}
	}
	p := t.fn.Pos[t.pc]
	if !p.IsValid() {
		return system.Pos{}
	}
	at := m.p.Fset.Position(p)
	return system.Pos{File: relative(at.Filename), Line: at.Line, Col: at.Column}
}

var workDir = sync.OnceValue(func() string {
	d, err := os.Getwd()
	if err != nil {
		return ""
	}
	return d
})

func relative(name string) string {
	if r, err := filepath.Rel(workDir(), name); err == nil && !strings.HasPrefix(r, "..") {
		return r
	}
	return name
}

// at returns a place for names: file and line.
func (m *Machine) at(t token) string {
	p := m.posOf(t)
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(p.File), p.Line)
}

// userToken returns the innermost place of a stack that is not in the standard
// library.
func (m *Machine) userToken(stack []token) token {
	for _, t := range stack {
		if t.fn != nil && !t.fn.Hidden && m.posOf(t).Line > 0 {
			return t
		}
	}
	return token{}
}

// userPos returns that place in the source.
func (m *Machine) userPos(stack []token) system.Pos {
	if t := m.userToken(stack); t.fn != nil {
		return m.posOf(t)
	}
	return system.Pos{}
}

// noteRun records what a new goroutine runs.
func (m *Machine) noteRun(x *goroutine) {
	if len(x.frames) == 0 {
		return
	}
	fn := x.frames[0].fn
	if fn.Hidden && !x.daemon { // sync.WaitGroup.Go and the like: what it was given
		r := x.regs()
		at := fn.Params
		for _, t := range fn.Captured {
			if t.Kind == compile.Pointer && t.Elem.Kind == compile.Function && r[at]>>32 != 0 {
				if f := m.funcOf(m.mem[m.addr(r[at])]); f != nil && !f.Hidden {
					fn = f
					break
				}
			}
			if t.Kind == compile.Function {
				if f := m.funcOf(r[at]); f != nil && !f.Hidden {
					fn = f
					break
				}
			}
			at += t.Size
		}
	}
	if old, _ := m.sys.runs.Load(x.number); old != fn {
		m.sys.runs.Store(x.number, fn)
	}
}

// funcOf returns the function of a function value, nil if there is none.
func (m *Machine) funcOf(w uint64) *compile.Func {
	switch {
	case w == 0:
		return nil
	case w&compile.StaticFunc != 0:
		return m.p.FuncByIndex(w &^ compile.StaticFunc)
	}
	return m.objs[w>>32].fn
}

// ThreadName implements [system.Machine]: the function that a goroutine runs, and its path of
// creation: worker #2 is the second one that the first goroutine has created, and worker #2.1
// the first one that worker #2 has created.
func (m *Machine) ThreadName(t int) string {
	n := m.sys.threads.Name(uint32(t))
	if n.parent < 0 {
		return m.sys.title
	}
	if name := m.sys.tests.of(int32(t)); name != "" {
		return name
	}
	path := ""
	for n.parent >= 0 {
		if path != "" {
			path = "." + path
		}
		path = fmt.Sprint(n.n+1) + path
		n = m.sys.threads.Name(uint32(n.parent))
	}
	name := "goroutine"
	if v, ok := m.sys.runs.Load(int32(t)); ok {
		fn := v.(*compile.Func)
		name = shortFunc(fn)
		if _, rest, ok := strings.Cut(name, "."); ok && !strings.HasPrefix(rest, "func") {
			name = rest // the type only makes it long
		}
		if fn.Hidden && strings.HasPrefix(fn.Name, "time.") {
			name = "timer"
		}
	}
	return name + " #" + path
}

// shortFunc returns a function's name without the package.
func shortFunc(f *compile.Func) string {
	s := f.Name
	if p, rest, ok := strings.Cut(s, "."); ok {
		switch {
		case strings.HasPrefix(p, "(*"):
			return strings.Replace(rest, ")", "", 1)
		case strings.HasPrefix(p, "("):
			return strings.Replace(rest, ")", "", 1)
		}
		return rest
	}
	return s
}

// Describe returns a goroutine's name with the place where it was made.
func (m *Machine) Describe(t int) string {
	name := m.ThreadName(t)
	if t < len(m.gors) {
		if at := m.at(m.gors[t].made); at != "" {
			name += " (made " + at + ")"
		}
	}
	return name
}

// objectNamed returns the object with a creator and a number.
func (m *Machine) objectNamed(creator, seq int32) (id uint64, ok bool) {
	if creator == loadedBy && int(seq) < len(m.objs) && seq > 0 &&
		m.objs[seq].creator == loadedBy && m.objs[seq].seq == seq {
		return uint64(seq), true
	}
	i, ok := m.named().byName[[2]int32{creator, seq}]
	return uint64(i), ok
}

// naming finds objects by their names for users. It is updated on demand, so nothing else pays
// for it.
type naming struct {
	entries []named // of the objects that are known, by number
	byName  map[[2]int32]uint32
	alike   map[likeness][]uint32 // in ascending order
}

type named struct {
	creator, seq int32
	like         likeness
}

// likeness is what objects named by their type have in common.
type likeness struct {
	typ  *compile.Type
	kind objKind
	size uint32
}

// forget records that the objects from a number on are gone or replaced.
func (n *naming) forget(from int) {
	for i := len(n.entries) - 1; i >= from; i-- {
		n.remove(uint32(i))
	}
	n.entries = n.entries[:min(from, len(n.entries))]
}

func (n *naming) remove(i uint32) {
	e := n.entries[i]
	if name := [2]int32{e.creator, e.seq}; n.byName[name] == i {
		delete(n.byName, name)
	}
	like := n.alike[e.like]
	if k, ok := slices.BinarySearch(like, i); ok {
		n.alike[e.like] = slices.Delete(like, k, k+1)
	}
}

// add adds an object, with its number.
func (n *naming) add(i uint32, o *object) {
	e := named{o.creator, o.seq, likeness{o.typ, o.kind, o.size}}
	n.entries[i] = e
	n.byName[[2]int32{e.creator, e.seq}] = i
	like := n.alike[e.like]
	k, _ := slices.BinarySearch(like, i)
	n.alike[e.like] = slices.Insert(like, k, i)
}

// replaced records that another object has a number now.
func (n *naming) replaced(i uint32, o *object) {
	if int(i) < len(n.entries) {
		n.remove(i)
		n.add(i, o)
	}
}

// named returns the names of the objects as they are now.
func (m *Machine) named() *naming {
	n := &m.naming
	if n.byName == nil {
		n.byName, n.alike = map[[2]int32]uint32{}, map[likeness][]uint32{}
	}
	for i := len(n.entries); i < len(m.objs); i++ {
		n.entries = append(n.entries, named{})
		n.add(uint32(i), &m.objs[i])
	}
	return n
}

// LocName implements [system.Machine]. Only locations of the program are named: variables, and
// what the steps' texts do not show.
func (m *Machine) LocName(l system.Loc) string {
	n := m.sys.locs.Name(uint32(l))
	if n.kind != wordLoc {
		return ""
	}
	id, ok := m.objectNamed(n.a, n.b)
	if !ok || uint32(n.c) >= m.objs[id].size {
		return ""
	}
	o := &m.objs[id]
	if o.kind == chanObj || o.kind == closureObj || o.kind == deferObj {
		return ""
	}
	if o.kind == mapObj {
		if o.typ == nil || m.hidden(o) || o.inside() {
			return ""
		}
		return m.rootName(id)
	}
	_, leaf, inner, first := m.path(id, int(n.c))
	if leaf == nil || inner == lockWord || !first || m.hidden(o) || o.inside() || m.foreign(o) {
		return ""
	}
	return m.describeWord(id<<32 | uint64(n.c))
}

// hidden reports whether an object was made in the standard library, or is a variable of it.
func (m *Machine) hidden(o *object) bool {
	if g := m.global(o); g != nil {
		return m.p.Standard(g.SSA.Pkg.Pkg)
	}
	return o.made != nil && o.made.Hidden
}

// inside reports whether an object was made in a call of the standard library: the program's
// innermost code was at a call.
func (o *object) inside() bool {
	if o.made == nil || int(o.pc) >= len(o.made.Code) {
		return false
	}
	op := o.made.Code[o.pc].Op
	return op >= compile.CallF && op <= compile.CallM
}

// global returns the package variable that an object is, nil if it is not one.
func (m *Machine) global(o *object) *compile.Global {
	if o.creator == loadedBy && o.seq > 0 && int(o.seq) <= len(m.p.Globals) {
		return &m.p.Globals[o.seq-1]
	}
	return nil
}

// foreign reports whether an object's type is one of the standard library.
func (m *Machine) foreign(o *object) bool {
	if o.typ == nil {
		return false
	}
	n, ok := types.Unalias(o.typ.T).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() != "sync/atomic" &&
		m.p.Standard(n.Obj().Pkg())
}

// inLibrary returns the function of the standard library that the user has called and that now
// synchronizes internally; empty if a primitive was called.
func (m *Machine) inLibrary(g *goroutine) string {
	n := len(g.frames)
	i := g.hidden()
	if i == n || i == 0 {
		return ""
	}
	name := g.frames[i].fn.Name
	pkg := strings.TrimLeft(name, "(*")
	pkg, _, _ = strings.Cut(pkg, ".")
	switch pkg {
	case "sync", "atomic", "time", "runtime", "cpor", "log", "rand":
		return ""
	case "fmt", "testing": // only what they do with files
		for i < n && !strings.HasPrefix(strings.TrimLeft(g.frames[i].fn.Name, "(*"), "os.") {
			i++
		}
		if i == n {
			return ""
		}
		name = g.frames[i].fn.Name
		fallthrough
	case "os":
		if name == "os.Exit" {
			return ""
		}
		return name + "(" + cmp.Or(m.fileOf(&g.frames[i], g), "...") + ")"
	}
	if outer, _, ok := strings.Cut(name, ".func"); ok { // a cancel function
		return "func of " + outer
	}
	return name + "(...)"
}

// hidden returns the index of the outermost of the top frames that belong to the standard
// library; the number of frames if none does.
func (g *goroutine) hidden() int {
	i := len(g.frames)
	for i > 0 && g.frames[i-1].fn.Hidden {
		i--
	}
	return i
}

// fileOf returns the name of the file that a function of package os is called for.
func (m *Machine) fileOf(f *frame, g *goroutine) string {
	if len(f.fn.ParamTypes) == 0 {
		return ""
	}
	w := g.stack[f.base]
	t := f.fn.ParamTypes[0]
	if t.Kind == compile.Pointer && t.Elem.Kind == compile.Struct && len(t.Elem.Fields) > 1 &&
		t.Elem.Fields[1].Name == "name" && w>>32 != 0 {
		t = t.Elem.Fields[1].Type
		w = m.mem[m.addr(w)+1]
	}
	if t.Kind != compile.String {
		return ""
	}
	return strconv.Quote(m.text(w))
}

// What a word is part of.
const (
	plainWord  = iota
	lockWord   // a type of package sync
	atomicWord // a type of package sync/atomic
)

// path returns the fields and indices that lead to a word of an object, its type, what
// it is a part of, and whether it is the first word of a value. The path ends at
// the types of packages sync and sync/atomic.
func (m *Machine) path(id uint64, off int) (path string, leaf *compile.Type, inner int,
	first bool) {
	o := &m.objs[id]
	t := o.typ
	if g := m.global(o); g != nil {
		t = g.Type
	}
	if t == nil || o.kind != plainObj || t.Size == 0 {
		return "", nil, plainWord, false
	}
	if int(o.size) > t.Size {
		path = fmt.Sprintf("[%d]", off/t.Size)
	}
	off %= t.Size
	for {
		if n, ok := types.Unalias(t.T).(*types.Named); ok && n.Obj().Pkg() != nil {
			switch n.Obj().Pkg().Path() {
			case "sync":
				return path, t, lockWord, off == 0
			case "sync/atomic":
				if t.Kind == compile.Struct {
					t, off = t.Fields[len(t.Fields)-1].Type, off-t.Fields[len(t.Fields)-1].Off
				}
				return path, t, atomicWord, off == 0
			}
		}
		switch t.Kind {
		case compile.Struct:
			next := t
			for _, f := range t.Fields {
				if off >= f.Off && off < f.Off+f.Type.Size {
					path += "." + f.Name
					off -= f.Off
					next = f.Type
					break
				}
			}
			if next == t {
				return path, t, plainWord, off == 0
			}
			t = next
		case compile.Array:
			if t.Elem.Size == 0 {
				return path, t, plainWord, off == 0
			}
			path += fmt.Sprintf("[%d]", off/t.Elem.Size)
			off %= t.Elem.Size
			t = t.Elem
		default:
			return path, t, plainWord, off == 0
		}
	}
}

// typeText returns a type's name; that of a package of the user has no prefix.
func (m *Machine) typeText(t *compile.Type) string {
	return types.TypeString(t.T, func(p *types.Package) string {
		if m.p.Standard(p) {
			return p.Name()
		}
		return ""
	})
}

// rootName names an object as a whole: a variable, or its type.
func (m *Machine) rootName(id uint64) string {
	o := &m.objs[id]
	if g := m.global(o); g != nil {
		return g.SSA.Name()
	}
	if o.made != nil {
		if n := o.made.MadeName(o.pc); n != "" {
			return n
		}
	}
	if o.typ == nil {
		return "memory"
	}
	switch o.kind {
	case chanObj:
		return "chan " + m.typeText(o.typ)
	case plainObj:
		if o.typ.Size > 0 && int(o.size) > o.typ.Size {
			return "[]" + m.typeText(o.typ)
		}
	}
	name := m.typeText(o.typ)
	if o.kind != plainObj {
		return name
	}
	// Several are numbered in the order of their creation.
	like := m.named().alike[likeness{o.typ, o.kind, o.size}]
	if before, _ := slices.BinarySearch(like, uint32(id)); len(like) > 1 {
		name += fmt.Sprintf("#%d", before+1)
	}
	return name
}

// describeWord names a word of memory for users.
func (m *Machine) describeWord(p uint64) string {
	id := p >> 32
	o := &m.objs[id]
	path, _, _, _ := m.path(id, int(uint32(p)))
	what := m.rootName(id) + path
	if path == "" && o.made != nil {
		if at := m.at(token{o.made, o.pc}); at != "" && o.made.MadeName(o.pc) == "" {
			what += " (made " + at + ")"
		}
	}
	return what
}

// Next implements [system.Machine].
func (m *Machine) Next(t int) (system.Pos, string, bool) {
	if t >= len(m.gors) || m.gors[t].status != alive {
		return system.Pos{}, "", false
	}
	g := m.gors[t]
	return m.userPos(m.stackOf(g)), m.doing(g), true
}

// Told implements [system.Telling]: what Next would have said, with the case taken and the
// partner goroutine. The machine must narrate.
func (m *Machine) Told() (system.Pos, string) {
	t := &m.told
	text := t.text
	if t.below > 0 && m.out.Kind == system.Moved {
		return t.pos, fmt.Sprintf("a random number below %d: %d", t.below, t.which)
	}
	if t.stdlib && text != "" {
		return t.pos, text
	}
	if len(t.cases) > 0 && m.out.Kind == system.Moved {
		switch {
		case t.thread < len(m.gors) && m.gors[t.thread].parked:
			text = "select: waits"
		case t.which >= 0 && t.which < len(t.cases):
			text = "select: " + t.cases[t.which]
		case t.which == -1:
			text = "select: default"
		}
	}
	if t.child > 0 && m.out.Kind == system.Moved {
		text = "go " + m.ThreadName(t.child)
	}
	if t.partner >= 0 {
		text += " (with " + m.ThreadName(t.partner) + ")"
	}
	return t.pos, text
}

func (m *Machine) cases(g *goroutine, i *compile.Instr) []string {
	r := g.regs()
	s := &g.top().fn.Selects[i.N]
	var cases []string
	for _, c := range s.Cases {
		if c.Send {
			cases = append(cases, "send "+m.valueText(c.Type, r[c.Value:])+" to "+
				m.chanName(r[c.Chan]))
		} else {
			cases = append(cases, "receive from "+m.chanName(r[c.Chan]))
		}
	}
	return cases
}

// syncTexts describe functions of the machine; the others are shown by name.
var syncTexts = map[string]string{
	"sync.rwAnnounce":         "RWMutex.Lock %s: keeps new readers out",
	"sync.rwLock":             "RWMutex.Lock %s",
	"sync.onceBegin":          "Once.Do %s",
	"sync.onceEnd":            "Once.Do %s: done",
	"sync.condAdd":            "Cond.Wait %s: begins to wait",
	"sync.condWait":           "Cond.Wait %s: is woken",
	"internal/cpor.Mark":      "the test has ended",
	"internal/cpor.Peek":      "look whether the test has ended",
	"internal/cpor.Rand":      "draw a random number",
	"internal/cpor.Pick":      "pick a random number",
	"internal/cpor.Point":     "use %s",
	"internal/cpor.Await":     "Sleep: wakes up",
	"internal/cpor.Arm":       "Sleep",
	"internal/cpor.Now":       "read the clock",
	"internal/cpor.Write":     "print",
	"internal/cpor.Exit":      "exit",
	"internal/cpor.Settled":   "wait until nothing can run",
	"internal/cpor.Forever":   "has ended by Goexit",
	"internal/cpor.InvokeNow": "call",
	"time.awaitTimer":         "the timer fires",
	"time.startTimer":         "start a timer",
	"time.setTimer":           "stop or reset a timer",
}

// paused returns the pointer to the memory that a goroutine is about to access, if it
// is before an access.
func (g *goroutine) paused() (p uint64, ok bool) {
	f := g.top()
	if f.pc == 0 {
		return 0, false
	}
	i := &f.fn.Code[f.pc-1]
	if i.Op != compile.Pause {
		return 0, false
	}
	return g.regs()[i.A], true
}

// Paused reports whether a goroutine is before an access to memory.
func (m *Machine) Paused(t int) bool {
	g := m.gors[t]
	if g.status != alive || g.unstarted || len(g.frames) == 0 || g.delivered {
		return false
	}
	_, ok := g.paused()
	return ok
}

// IsWord reports whether a location is a word of memory.
func (m *Machine) IsWord(l system.Loc) bool { return m.sys.locs.Name(uint32(l)).kind == wordLoc }

// doing says what a goroutine does next.
func (m *Machine) doing(g *goroutine) string {
	i := g.pending()
	if i == nil {
		return ""
	}
	f := g.top()
	if g.unstarted {
		if g.number == 0 {
			return "begins"
		}
		return "begins " + strings.SplitN(m.ThreadName(int(g.number)), " #", 2)[0]
	}
	if s := m.inLibrary(g); s != "" {
		return s
	}
	r := g.regs()
	if g.delivered {
		return "goes on"
	}
	if !i.Op.Synchronises() {
		if p, ok := g.paused(); ok {
			what := "read "
			if i.Op.Writes() {
				what = "write "
			}
			return what + m.describeWord(p)
		}
		return "goes on computing"
	}
	switch i.Op {
	case compile.Go:
		return m.doingGo(f, i, r)
	case compile.Send:
		return "send " + m.valueText(f.fn.Types[i.N], r[i.B:]) + " to " + m.chanName(r[i.A])
	case compile.Recv:
		return "receive from " + m.chanName(r[i.B])
	case compile.SelectOp:
		cases := m.cases(g, i)
		if f.fn.Selects[i.N].Default {
			cases = append(cases, "default")
		}
		if len(cases) == 0 {
			return "select {}"
		}
		return "select " + strings.Join(cases, " | ")
	case compile.Close:
		return "close " + m.chanName(r[i.A])
	case compile.LenChan:
		return "len of " + m.chanName(r[i.B])
	case compile.PickMap:
		return "range over a map: any key"
	case compile.Sync:
		return m.doingSync(f, i, r)
	}
	return ""
}

// doingGo says which goroutine a statement starts.
func (m *Machine) doingGo(f *frame, i *compile.Instr, r []uint64) string {
	name := f.fn.Calls[i.N].Name
	c := &f.fn.Calls[i.N]
	switch fn := c.Func; {
	case fn != nil:
		name = shortFunc(fn)
	case i.K == compile.Kind(compile.CallV-compile.CallF):
		if fn := m.funcOf(r[c.Value]); fn != nil {
			name = shortFunc(fn)
		}
	}
	return "go " + name
}

// doingSync says which operation of the libraries for synchronization is called.
func (m *Machine) doingSync(f *frame, i *compile.Instr, r []uint64) string {
	full := natives[i.N].name
	if drawsRandom(i) {
		return syncTexts["internal/cpor.Rand"]
	}
	object := ""
	if len(f.fn.ParamTypes) > 0 && f.fn.ParamTypes[0].Kind == compile.Pointer {
		object = m.pointee(r[0])
	}
	if s, ok := syncTexts[full]; ok {
		if strings.Contains(s, "%s") {
			s = fmt.Sprintf(s, object)
		}
		return s
	}
	if full == "sync.condNotify" {
		if r[1] == 1 {
			return "Cond.Broadcast " + object + m.nobody(r[0])
		}
		return "Cond.Signal " + object + m.nobody(r[0])
	}
	name := strings.NewReplacer("(*sync.", "", "sync/atomic.", "atomic.", "internal/cpor.", "",
		")", "").Replace(full)
	if name == "WaitGroup.Add" && int64(r[1]) < 0 {
		return "WaitGroup.Done " + object
	} else if name == "WaitGroup.Add" {
		return fmt.Sprintf("WaitGroup.Add %s %d", object, int64(r[1]))
	}
	if strings.HasPrefix(name, "atomic.") {
		for _, k := range []string{"Int32", "Int64", "Uint32", "Uint64", "Uintptr", "Pointer"} {
			name = strings.TrimSuffix(name, k)
		}
		name = strings.Replace(name, ".add", ".Add", 1)
	}
	if object != "" {
		return name + " " + object
	}
	return name
}

// nobody says that nobody waits at a Cond.
func (m *Machine) nobody(p uint64) string {
	if p>>32 != 0 && m.mem[m.addr(p)] == m.mem[m.addr(p)+1] {
		return ": nobody waits"
	}
	return ""
}

// pointee names what a pointer points to.
func (m *Machine) pointee(p uint64) string {
	if p>>32 == 0 {
		return "nil"
	}
	if m.objs[p>>32].kind == chanObj {
		return m.chanName(p)
	}
	return m.describeWord(p)
}

// chanName names a channel.
func (m *Machine) chanName(c uint64) string {
	if c == 0 {
		return "a nil channel"
	}
	o := &m.objs[c>>32]
	name := m.rootName(c >> 32)
	if m.chanWord(c, chanTimer) == 1 || m.hidden(o) {
		name = "a channel"
	}
	if at := m.at(token{o.made, o.pc}); at != "" {
		name += " (" + at + ")"
	}
	return name
}

// valueText prints a value briefly.
func (m *Machine) valueText(t *compile.Type, v []uint64) string {
	switch {
	case t.Kind == compile.String:
		s := fmt.Sprintf("%q", m.text(v[0]))
		if len(s) > 40 {
			s = s[:37] + `..."`
		}
		return s
	case t.Kind == compile.Interface:
		if v[0] == 0 {
			return "nil"
		}
		d := m.p.TypeByID(v[0])
		return m.valueText(d, m.unboxed(d, &v[1]))
	case t.Kind >= compile.Bool && t.Kind <= compile.Complex128:
		return fmt.Sprint(m.basic(t, v))
	case t.Kind == compile.Pointer:
		if v[0] == 0 {
			return "nil"
		}
		return "&" + m.rootName(v[0]>>32)
	case t.Kind == compile.Chan || t.Kind == compile.Map:
		if v[0] == 0 {
			return "nil"
		}
		return m.rootName(v[0] >> 32)
	case t.Kind == compile.Function:
		if f := m.funcOf(v[0]); f != nil {
			return shortFunc(f)
		}
		return "nil"
	case t.Kind == compile.Slice:
		return fmt.Sprintf("%s of length %d", m.typeText(t), v[1])
	case t.Kind == compile.Struct:
		if t.Size > 8 {
			return m.typeText(t)
		}
		var parts []string
		for _, f := range t.Fields {
			parts = append(parts, m.valueText(f.Type, v[f.Off:]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return m.typeText(t)
}

// Locals implements [system.Machine]: none are shown.
func (m *Machine) Locals(t int) []system.Binding { return nil }

// ValueString implements [system.Machine].
func (m *Machine) ValueString(l system.Loc) string {
	n := m.sys.locs.Name(uint32(l))
	if n.kind != wordLoc {
		return ""
	}
	id, ok := m.objectNamed(n.a, n.b)
	if !ok || uint32(n.c) >= m.objs[id].size {
		return "gone"
	}
	o := &m.objs[id]
	if o.kind == mapObj {
		return fmt.Sprintf("map of length %d", m.mem[o.base+mapLen])
	}
	_, leaf, _, _ := m.path(id, int(n.c))
	if leaf == nil || leaf.Kind == compile.Struct || leaf.Kind == compile.Array {
		return fmt.Sprint(int64(m.mem[o.base+uint32(n.c)]))
	}
	return m.valueText(leaf, slices.Clone(m.mem[o.base+uint32(n.c):]))
}
