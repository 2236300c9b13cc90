package oracle

import (
	"fmt"
	"slices"
	"strings"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

// Pair is a construct and a context in which it stands.
type Pair struct{ Construct, Context string }

// Contexts are where statements stand: the innermost block, and of the blocks
// further out those that change what a statement means.
var Contexts = []string{
	"thread", "function", "init", "if", "else", "for", "range", "switch case", "select case",
	"choose case", "block",
	"atomic", "synchronized", "within atomic", "within synchronized", "within a loop",
}

// Statements are the constructs that are statements, as [Pairs] names them.
var Statements = []string{
	"assignment", "several assignments", "op=", ":=", "++ or --", "var", "const", "type", "send",
	"receive", "v, ok := <-c", "call",
	"if", "if with init", "for", "for cond", "for clauses", "range number", "range array",
	"range pointer", "range channel",
	"switch", "switch tag", "switch with init", "fallthrough", "default", "select", "select send",
	"select receive",
	"select await", "select default", "select exists", "choose", "atomic", "synchronized", "go",
	"return", "break", "continue",
	"break label", "continue label", "goto", "label", "end label", "await", "assert", "skip",
	"block",
	"lock", "unlock", "wait", "notify", "notifyAll", "up", "down", "close", "cas",
	"meeting send", "meeting receive", "assume", "lock rwmutex", "unlock rwmutex", "rlock",
	"runlock", "add", "done", "wait for group",
	"struct result", "wait for cond", "signal", "broadcast", "print", "cas of parts", "trylock",
	"tryrlock",
	"matching receive", "peeking receive", "send to bag", "receive from bag", "select match",
	"select peek",
}

// Expressions are the constructs that are expressions, and ExpressionContexts
// where they stand.
var (
	Expressions = []string{
		"<-c", "<-match()", "<-peek()", "poll()", "choose(lo, hi)", "f()", "timeout()", "cas()",
		"trylock()", "tryrlock()", "len", "cap", "empty", "full", "min", "max", "conversion",
		"forall", "exists",
		"count in", "sum in", "min in", "max in",
		"*p", "p.f", "nil", "[]", "&&", "||", "!", "-x", "^x", "arithmetic", "/ or %", "shift",
		"comparison",
	}
	ExpressionContexts = []string{
		"condition of if", "condition of for", "condition of await", "condition of assert",
		"condition of assume", "operand of print", "value", "place", "value sent",
		"argument", "pattern", "tag", "case", "result", "guard of select", "quantifier",
		"invariant", "ltl", "within atomic",
	}
)

// Refused tells why the language refuses a pair, or why programs are generated
// without it; it is empty if the pair must occur.
func Refused(p Pair) string {
	if p.Construct == "fallthrough" && p.Context != "switch case" &&
		!strings.HasPrefix(p.Context, "within") {
		return "stands in a case of a switch"
	}
	if p.Construct == "timeout()" && !slices.Contains([]string{"condition of await",
		"guard of select", "within atomic"}, p.Context) {
		return "stands in the condition of an await"
	}
	for _, r := range refusals {
		if slices.Contains(r.contexts, p.Context) && slices.Contains(r.constructs, p.Construct) {
			return r.why
		}
	}
	return ""
}

// refusals says which constructs stand in no such context, the first that matches.
var refusals = []struct {
	contexts, constructs []string
	why                  string
}{
	{
		[]string{"atomic", "within atomic", "init"},
		[]string{"wait", "wait for cond", "meeting send", "meeting receive"},
		"needs another thread's step",
	},
	{
		[]string{"atomic", "within atomic"},
		[]string{"end label"},
		"stands before the block",
	},
	{
		[]string{"atomic", "within atomic"},
		[]string{"go", "for cond"},
		"loops and creation without bound are left out",
	},
	{
		[]string{"init"},
		[]string{"break", "continue", "break label", "continue label"},
		"no loop around",
	},
	{
		[]string{"init"},
		[]string{"for cond", "end label", "return"},
		"left out",
	},
	{
		[]string{"thread", "function"},
		[]string{"assume"},
		"stands in init",
	},
	{
		[]string{"thread", "function"},
		[]string{"break", "continue", "break label", "continue label"},
		"no loop around, or not directly",
	},
	{
		[]string{"function"},
		[]string{"go"},
		"creation without bound is left out",
	},
	{
		[]string{"invariant", "ltl", "condition of await", "condition of assume",
			"guard of select", "quantifier"},
		[]string{"<-c", "<-match()", "<-peek()", "choose(lo, hi)", "cas()", "trylock()",
			"tryrlock()"},
		"has effects",
	},
	{
		[]string{"place"},
		noIntegers,
		"is no integer",
	},
	{
		[]string{"tag", "case", "argument"},
		noIntegers,
		"is no integer; bools as values stand elsewhere",
	},
}

var noIntegers = []string{"&&", "||", "!", "comparison", "forall", "exists", "empty", "full",
	"poll()", "nil", "cas()", "trylock()", "tryrlock()"}

// Pairs returns the pairs of constructs and contexts in a model.
func Pairs(text string) (map[Pair]bool, error) {
	r, err := resolve.Check(source.New("generated.model", text), resolve.Options{})
	if err != nil {
		return nil, err
	}
	c := &collector{r: r, pairs: map[Pair]bool{}}
	for _, d := range r.File.Decls {
		switch d := d.(type) {
		case *syntax.ThreadDecl:
			c.body([]string{"thread"}, d.Body.Stmts)
		case *syntax.FuncDecl:
			c.body([]string{"function"}, d.Body.Stmts)
		case *syntax.InitDecl:
			c.body([]string{"init"}, d.Body.Stmts)
		case *syntax.InvariantDecl:
			c.expr(d.Cond, []string{"invariant"})
		case *syntax.LTLDecl:
			c.expr(d.Formula, []string{"ltl"})
		}
	}
	return c.pairs, nil
}

type collector struct {
	r     *resolve.Program
	pairs map[Pair]bool
}

// body collects the statements of a block; in are the contexts, the innermost
// one first.
func (c *collector) body(in []string, list []syntax.Stmt) {
	for _, s := range list {
		c.stmt(in, s)
	}
}

// block returns the contexts in a block of a kind.
func block(in []string, kind string) []string {
	out := []string{kind}
	for _, k := range in[1:] {
		if k != kind {
			out = append(out, k)
		}
	}
	switch kind {
	case "atomic", "synchronized":
		out = append(out, "within "+kind)
	case "for", "range":
		out = append(out, "within a loop")
	}
	return out
}

func (c *collector) add(construct string, in []string) {
	for _, k := range in {
		c.pairs[Pair{construct, k}] = true
	}
}

func (c *collector) typeOf(e syntax.Expr) *resolve.Type {
	if t := c.r.Types[e]; t != nil {
		return t
	}
	return &resolve.Type{}
}

// meets reports whether a channel has no buffer, as far as its type says.
func (c *collector) meets(e syntax.Expr) bool {
	t := c.typeOf(e)
	return t.Kind == resolve.Chan && t.Cap == 0
}

func (c *collector) stmt(in []string, s syntax.Stmt) {
	x := func(e syntax.Expr, where string) {
		contexts := []string{where}
		for _, k := range in {
			if k == "within atomic" {
				contexts = append(contexts, k)
			}
		}
		c.expr(e, contexts)
	}
	add := func(name string) { c.add(name, in) }
	switch s := s.(type) {
	case *syntax.Block:
		add("block")
		c.body(block(in, "block"), s.Stmts)
	case *syntax.DeclStmt:
		switch d := s.Decl.(type) {
		case *syntax.ConstDecl:
			add("const")
		case *syntax.TypeDecl:
			add("type")
		case *syntax.VarDecl:
			add("var")
			for _, e := range d.Values {
				x(e, "value")
			}
		}
	case *syntax.ExprStmt:
		c.exprStmt(in, s, x)
	case *syntax.SendStmt:
		add("send")
		if c.meets(s.Chan) {
			add("meeting send")
		}
		if c.typeOf(s.Chan).Bag {
			add("send to bag")
		}
		x(s.Value, "value sent")
	case *syntax.AssignStmt:
		switch {
		case s.Op == syntax.Define && len(s.Lhs) == 2 && len(s.Rhs) == 1 && isReceive(s.Rhs[0]):
			add("v, ok := <-c")
		case s.Op == syntax.Define:
			add(":=")
		case s.Op != syntax.Assign:
			add("op=")
		case len(s.Lhs) > 1:
			add("several assignments")
		default:
			add("assignment")
		}
		if len(s.Rhs) == 1 {
			c.receives(s.Rhs[0], add)
		}
		for _, e := range s.Rhs {
			if call, ok := e.(*syntax.CallExpr); ok && c.r.Calls[call] == resolve.CallFunc &&
				c.typeOf(call).Kind == resolve.Struct {
				add("struct result")
			}
		}
		for _, e := range s.Lhs {
			if i, ok := e.(*syntax.IndexExpr); ok {
				x(i.Index, "place")
			}
			if u, ok := e.(*syntax.UnaryExpr); ok {
				x(u, "place")
			}
			if sel, ok := e.(*syntax.SelectorExpr); ok {
				x(sel, "place")
			}
		}
		for _, e := range s.Rhs {
			x(e, "value")
		}
	case *syntax.IncDecStmt:
		add("++ or --")
	case *syntax.IfStmt:
		add("if")
		if s.Init != nil {
			add("if with init")
		}
		x(s.Cond, "condition of if")
		c.body(block(in, "if"), s.Then.Stmts)
		switch e := s.Else.(type) {
		case *syntax.Block:
			c.body(block(in, "else"), e.Stmts)
		case *syntax.IfStmt:
			c.stmt(block(in, "else"), e)
		}
	case *syntax.ForStmt:
		switch {
		case s.Post != nil:
			add("for clauses")
		case s.Cond != nil:
			add("for cond")
		default:
			add("for")
		}
		if s.Cond != nil {
			x(s.Cond, "condition of for")
		}
		c.body(block(in, "for"), s.Body.Stmts)
	case *syntax.RangeStmt:
		switch c.typeOf(s.X).Kind {
		case resolve.Array:
			add("range array")
		case resolve.Pointer:
			add("range pointer")
		case resolve.Chan:
			add("range channel")
		default:
			add("range number")
		}
		c.body(block(in, "range"), s.Body.Stmts)
	case *syntax.SwitchStmt:
		add("switch")
		if s.Init != nil {
			add("switch with init")
		}
		if s.Tag != nil {
			add("switch tag")
			x(s.Tag, "tag")
		}
		for _, k := range s.Cases {
			if k.Default {
				add("default")
			}
			for _, e := range k.Values {
				if s.Tag != nil {
					x(e, "case")
				}
			}
			c.body(block(in, "switch case"), k.Body)
		}
	case *syntax.SelectStmt:
		add("select")
		for _, k := range s.Cases {
			if k.Each != nil {
				add("select exists")
			}
			switch m := k.Comm.(type) {
			case *syntax.SendStmt:
				add("select send")
				x(m.Value, "value sent")
			case *syntax.AwaitStmt:
				add("select await")
				x(m.Cond, "guard of select")
			case nil:
				add("select default")
			default:
				add("select receive")
				for _, name := range c.views(received(m)) {
					add("select " + name)
				}
			}
			c.body(block(in, "select case"), k.Body)
		}
	case *syntax.ChooseStmt:
		add("choose")
		for _, k := range s.Cases {
			c.body(block(in, "choose case"), k.Body)
		}
	case *syntax.AtomicStmt:
		add("atomic")
		c.body(block(in, "atomic"), s.Body.Stmts)
	case *syntax.SyncStmt:
		add("synchronized")
		c.body(block(in, "synchronized"), s.Body.Stmts)
	case *syntax.GoStmt:
		add("go")
		for _, e := range s.Args {
			x(e, "argument")
		}
	case *syntax.ReturnStmt:
		add("return")
		for _, e := range s.Results {
			x(e, "result")
		}
	case *syntax.BranchStmt:
		name := [...]string{"break", "continue", "goto", "fallthrough"}[s.Tok]
		if s.Label != nil && s.Tok != syntax.Goto {
			name += " label"
		}
		add(name)
	case *syntax.LabeledStmt:
		add("label")
		if n := s.Label.Name; n == "end" || len(n) > 4 && n[:4] == "end_" {
			add("end label")
		}
		c.stmt(in, s.Stmt)
	case *syntax.AwaitStmt:
		add("await")
		x(s.Cond, "condition of await")
	case *syntax.AssertStmt:
		add("assert")
		x(s.Cond, "condition of assert")
	case *syntax.SkipStmt:
		add("skip")
	}
}

// received returns what a case of a select receives, as an expression.
func received(s syntax.Stmt) syntax.Expr {
	if a, ok := s.(*syntax.AssignStmt); ok {
		return a.Rhs[0]
	}
	return s.(*syntax.ExprStmt).X
}

// views returns whether a receive is one of match, of peek, or of both.
func (c *collector) views(e syntax.Expr) []string {
	u, ok := syntax.Unparen(e).(*syntax.UnaryExpr)
	if !ok || u.Op != syntax.Arrow {
		return nil
	}
	var names []string
	for call, ok := u.X.(*syntax.CallExpr); ok && c.r.Calls[call] == resolve.CallBuiltin; call,
		ok = call.Args[0].(*syntax.CallExpr) {
		names = append(names, call.Fun.(*syntax.Ident).Name)
	}
	return names
}

// receives adds what a receive as a statement is.
func (c *collector) receives(e syntax.Expr, add func(name string)) {
	if u, ok := syntax.Unparen(e).(*syntax.UnaryExpr); ok && u.Op == syntax.Arrow &&
		c.typeOf(u.X).Bag {
		add("receive from bag")
	}
	for _, name := range c.views(e) {
		add(map[string]string{"match": "matching receive", "peek": "peeking receive"}[name])
	}
}

func isReceive(e syntax.Expr) bool {
	u, ok := syntax.Unparen(e).(*syntax.UnaryExpr)
	return ok && u.Op == syntax.Arrow
}

func (c *collector) exprStmt(in []string, s *syntax.ExprStmt, x func(syntax.Expr, string)) {
	switch e := syntax.Unparen(s.X).(type) {
	case *syntax.UnaryExpr:
		c.add("receive", in)
		c.receives(e, func(name string) { c.add(name, in) })
		if c.meets(e.X) {
			c.add("meeting receive", in)
		}
	case *syntax.CallExpr:
		name := "call"
		if c.r.Calls[e] == resolve.CallBuiltin {
			name = e.Fun.(*syntax.Ident).Name
		}
		kind := resolve.Invalid
		if c.r.Calls[e] == resolve.CallBuiltin {
			if len(e.Args) == 0 {
			} else if kind = c.typeOf(e.Args[0]).Kind; kind == resolve.Pointer {
				kind = c.typeOf(e.Args[0]).Elem.Kind
			}
		}
		switch {
		case kind == resolve.RWMutex && (name == "lock" || name == "unlock"):
			name += " rwmutex"
		case kind == resolve.WaitGroup && name == "wait":
			name = "wait for group"
		case kind == resolve.Cond && name == "wait":
			name = "wait for cond"
		case name == "cas" && (c.typeOf(e.Args[0]).Kind == resolve.Struct ||
			c.typeOf(e.Args[0]).Kind == resolve.Array):
			name = "cas of parts"
		}
		c.add(name, in)
		where := "argument"
		switch name {
		case "assume":
			where = "condition of assume"
		case "print":
			where = "operand of print"
		}
		for _, a := range e.Args {
			x(a, where)
		}
	}
}

// expr collects an expression and its parts.
func (c *collector) expr(e syntax.Expr, in []string) {
	switch e := e.(type) {
	case *syntax.Ident:
		if e.Name == "nil" {
			c.add("nil", in)
		}
	case *syntax.ParenExpr:
		c.expr(e.X, in)
	case *syntax.UnaryExpr:
		if name := map[syntax.Op]string{syntax.Arrow: "<-c", syntax.Mul: "*p", syntax.Not: "!",
			syntax.Sub: "-x", syntax.Xor: "^x"}[e.Op]; name != "" {
			c.add(name, in)
		}
		for _, name := range c.views(e) {
			c.add("<-"+name+"()", in)
		}
		c.expr(e.X, in)
	case *syntax.BinaryExpr:
		name := "comparison"
		switch e.Op {
		case syntax.LAnd:
			name = "&&"
		case syntax.LOr:
			name = "||"
		case syntax.Shl, syntax.Shr:
			name = "shift"
		case syntax.Div, syntax.Rem:
			name = "/ or %"
		case syntax.Add, syntax.Sub, syntax.Mul, syntax.And, syntax.Or, syntax.Xor, syntax.AndNot:
			name = "arithmetic"
		}
		c.add(name, in)
		c.expr(e.X, in)
		c.expr(e.Y, in)
	case *syntax.IndexExpr:
		c.add("[]", in)
		c.expr(e.X, in)
		c.expr(e.Index, in)
	case *syntax.SelectorExpr:
		if c.typeOf(e.X).Kind == resolve.Pointer {
			c.add("p.f", in)
		}
		c.expr(e.X, in)
	case *syntax.CallExpr:
		switch c.r.Calls[e] {
		case resolve.CallConversion:
			c.add("conversion", in)
		case resolve.CallFunc:
			c.add("f()", in)
		default:
			name := e.Fun.(*syntax.Ident).Name
			switch name {
			case "choose":
				name = "choose(lo, hi)"
			case "cas", "trylock", "tryrlock", "timeout", "poll":
				name += "()"
			case "match":
				c.expr(e.Args[0], in)
				c.expr(e.Args[1], append(slices.Clip(in), "pattern"))
				return
			}
			c.add(name, in)
		}
		for _, a := range e.Args {
			c.expr(a, in)
		}
	case *syntax.CompositeLit:
		for _, v := range e.Values {
			c.expr(v, in)
		}
	case *syntax.QuantExpr:
		name := "forall"
		if e.Exists {
			name = "exists"
		}
		c.add(name, in)
		c.expr(e.Cond, append(slices.Clip(in), "quantifier"))
	case *syntax.FoldExpr:
		c.add(e.Op.String()+" in", in)
		if e.Op == syntax.Count { // a condition stands where none could
			in = slices.DeleteFunc(slices.Clone(in), func(context string) bool {
				return slices.Contains([]string{"place", "tag", "case", "value sent", "argument"},
					context)
			})
		}
		c.expr(e.X, append(slices.Clip(in), "quantifier"))
	case *syntax.TemporalExpr:
		c.expr(e.X, in)
		if e.Y != nil {
			c.expr(e.Y, in)
		}
	}
}

// String prints a pair.
func (p Pair) String() string { return fmt.Sprintf("%s in %s", p.Construct, p.Context) }
