package gotest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cpor/testkit/gogen"
	"cpor/testkit/sample"
)

// edit replaces a part of a text.
type edit struct {
	from, to int
	with     string
}

// mutation is one of the mistakes that people make with concurrency, at one place.
type mutation []edit

// in returns a text with the mutation.
func (m mutation) in(text string) string {
	m = slices.Clone(m)
	slices.SortFunc(m, func(a, b edit) int { return b.from - a.from })
	for _, e := range m {
		text = text[:e.from] + e.with + text[e.to:]
	}
	return text
}

// program is a source file whose mutations are wanted.
type program struct {
	text  string
	fset  *token.FileSet
	file  *ast.File
	lists [][]ast.Stmt // of blocks, cases and functions
}

func newProgram(text string) (*program, error) {
	p := &program{text: text, fset: token.NewFileSet()}
	var err error
	p.file, err = parser.ParseFile(p.fset, "k.go", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(p.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			p.lists = append(p.lists, n.List)
		case *ast.CaseClause:
			p.lists = append(p.lists, n.Body)
		case *ast.CommClause:
			p.lists = append(p.lists, n.Body)
		}
		return true
	})
	return p, nil
}

func (p *program) offset(pos token.Pos) int { return p.fset.Position(pos).Offset }

func (p *program) of(n ast.Node) string { return p.text[p.offset(n.Pos()):p.offset(n.End())] }

// put is the edit that replaces a node.
func (p *program) put(n ast.Node, with string) edit {
	return edit{p.offset(n.Pos()), p.offset(n.End()), with}
}

// call is a statement that calls a method, perhaps when the function ends.
type call struct {
	stmt     ast.Stmt
	call     *ast.CallExpr
	on, name string
	sel      *ast.Ident
}

func (p *program) callOf(s ast.Stmt) (c call, ok bool) {
	c.stmt = s
	switch s := s.(type) {
	case *ast.ExprStmt:
		c.call, _ = s.X.(*ast.CallExpr)
	case *ast.DeferStmt:
		c.call = s.Call
	}
	if c.call == nil {
		return c, false
	}
	sel, ok := c.call.Fun.(*ast.SelectorExpr)
	if ok {
		c.on, c.name, c.sel = p.of(sel.X), sel.Sel.Name, sel.Sel
	}
	return c, ok
}

// calls returns the statements that call methods of these names.
func (p *program) calls(names ...string) (out []call) {
	for _, list := range p.lists {
		for _, s := range list {
			if c, ok := p.callOf(s); ok && slices.Contains(names, c.name) {
				out = append(out, c)
			}
		}
	}
	return out
}

// without are the mutations that leave out a call.
func (p *program) without(names ...string) (out []mutation) {
	for _, c := range p.calls(names...) {
		out = append(out, mutation{p.put(c.stmt, "")})
	}
	return out
}

// pairs calls f with a call that locks and one that unlocks the same, behind it.
func (p *program) pairs(f func(lock, unlock call)) {
	of := map[string]string{"Lock": "Unlock", "RLock": "RUnlock"}
	for _, lock := range p.calls("Lock", "RLock") {
		for _, unlock := range p.calls(of[lock.name]) {
			if unlock.on == lock.on && unlock.stmt.Pos() > lock.stmt.Pos() {
				f(lock, unlock)
				break
			}
		}
	}
}

// every calls f with the nodes of one type.
func every[N ast.Node](p *program, f func(n N)) {
	ast.Inspect(p.file, func(n ast.Node) bool {
		if n, ok := n.(N); ok {
			f(n)
		}
		return true
	})
}

// isCall tells whether an expression calls a function of the language.
func isCall(e ast.Expr, name string) (*ast.CallExpr, bool) {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	id, ok := c.Fun.(*ast.Ident)
	return c, ok && id.Name == name
}

// plainTypes are what package sync/atomic has, without what makes it atomic.
var plainTypes = func() string {
	text := "\nvar _ atomic.Bool\n"
	for name, of := range map[string]string{"Int32": "int32", "Int64": "int64", "Uint32": "uint32",
		"Uint64": "uint64", "Bool": "bool"} {
		text += strings.NewReplacer("NAME", name, "TYPE", of).Replace(`
type plainNAME struct{ v TYPE }

func (p *plainNAME) Load() TYPE   { return p.v }
func (p *plainNAME) Store(v TYPE) { p.v = v }
func (p *plainNAME) Swap(v TYPE) TYPE { old := p.v; p.v = v; return old }
func (p *plainNAME) CompareAndSwap(old, new TYPE) bool {
	if p.v != old {
		return false
	}
	p.v = new
	return true
}
`)
		if of != "bool" {
			text += strings.NewReplacer("NAME", name, "TYPE", of).Replace(
				"func (p *plainNAME) Add(d TYPE) TYPE { p.v += d; return p.v }\n")
		}
	}
	return text
}()

// atomicFunc matches the functions of sync/atomic that have a plain counterpart.
var atomicFunc = regexp.MustCompile(`^atomic\.(Load|Store|Add)(Int|Uint)(32|64)$`)

// operators are the mistakes, by name.
var operators = map[string]func(p *program) []mutation{
	"unguarded": func(p *program) (out []mutation) {
		p.pairs(func(lock, unlock call) {
			out = append(out, mutation{p.put(lock.stmt, ""), p.put(unlock.stmt, "")})
		})
		return out
	},
	"half": func(p *program) []mutation { return p.without("Lock", "Unlock", "RLock", "RUnlock") },
	"reader": func(p *program) (out []mutation) {
		other := map[string]string{"Lock": "RLock", "RLock": "Lock", "Unlock": "RUnlock",
			"RUnlock": "Unlock"}
		p.pairs(func(lock, unlock call) {
			out = append(out, mutation{p.put(lock.sel, other[lock.name]),
				p.put(unlock.sel, other[unlock.name])}, mutation{p.put(lock.sel, other[lock.name])})
		})
		return out
	},
	"uncounted": func(p *program) []mutation { return p.without("Wait", "Done", "Add") },
	"unsignaled": func(p *program) (out []mutation) {
		for _, c := range p.calls("Signal", "Broadcast") {
			other := map[string]string{"Signal": "Broadcast", "Broadcast": "Signal"}[c.name]
			out = append(out, mutation{p.put(c.stmt, "")}, mutation{p.put(c.sel, other)})
		}
		return out
	},
	"exchanged": func(p *program) (out []mutation) {
		for _, list := range p.lists {
			for i := 1; i < len(list); i++ {
				out = append(out, mutation{p.put(list[i-1], p.of(list[i])),
					p.put(list[i], p.of(list[i-1]))})
			}
		}
		return out
	},
	"capacity": func(p *program) (out []mutation) {
		every(p, func(n *ast.CallExpr) {
			c, ok := isCall(n, "make")
			if !ok {
				return
			}
			if _, ok = c.Args[0].(*ast.ChanType); !ok {
				return
			}
			with := ", 1"
			if len(c.Args) > 1 {
				with = ""
			}
			out = append(out, mutation{{p.offset(c.Args[0].End()), p.offset(c.Rparen), with}})
		})
		return out
	},
	"open": func(p *program) (out []mutation) {
		every(p, func(n ast.Stmt) {
			switch s := n.(type) {
			case *ast.ExprStmt:
				if _, ok := isCall(s.X, "close"); ok {
					out = append(out, mutation{p.put(n, "")})
				}
			case *ast.DeferStmt:
				if _, ok := isCall(s.Call, "close"); ok {
					out = append(out, mutation{p.put(n, "")})
				}
			}
		})
		return out
	},
	"unsent": func(p *program) (out []mutation) {
		for _, list := range p.lists {
			for _, s := range list {
				_, sends := s.(*ast.SendStmt)
				if e, ok := s.(*ast.ExprStmt); ok {
					_, sends = e.X.(*ast.UnaryExpr) // a receive
				}
				if sends {
					out = append(out, mutation{p.put(s, "")})
				}
			}
		}
		return out
	},
	"plain": func(p *program) (out []mutation) {
		end := edit{len(p.text), len(p.text), plainTypes}
		every(p, func(n *ast.SelectorExpr) {
			if name := p.of(n); strings.HasPrefix(name, "atomic.") &&
				strings.Contains(plainTypes, "type plain"+n.Sel.Name+" ") {
				out = append(out, mutation{p.put(n, "plain"+n.Sel.Name), end})
			}
		})
		every(p, func(n *ast.CallExpr) {
			m := atomicFunc.FindStringSubmatch(p.of(n.Fun))
			if m == nil {
				return
			}
			with := "*(" + p.of(n.Args[0]) + ")"
			if len(n.Args) > 1 {
				with += map[string]string{"Store": " = ", "Add": " += "}[m[1]] + p.of(n.Args[1])
			}
			out = append(out, mutation{p.put(n, with), end})
		})
		return out
	},
	"undeferred": func(p *program) (out []mutation) {
		every(p, func(n *ast.DeferStmt) {
			out = append(out, mutation{p.put(n, "")}, mutation{p.put(n, p.of(n.Call))})
		})
		return out
	},
	"selected": func(p *program) (out []mutation) {
		every(p, func(n *ast.SelectStmt) {
			polls := false
			for _, s := range n.Body.List {
				polls = polls || s.(*ast.CommClause).Comm == nil
				out = append(out, mutation{p.put(s, "")})
			}
			if !polls {
				at := p.offset(n.Body.Rbrace)
				out = append(out, mutation{{at, at, "default:\n"}})
			}
		})
		return out
	},
	"off": func(p *program) (out []mutation) {
		every(p, func(n *ast.BasicLit) {
			i, err := strconv.Atoi(n.Value)
			if n.Kind != token.INT || err != nil {
				return
			}
			out = append(out, mutation{p.put(n, fmt.Sprint(i+1))})
			if i > 0 {
				out = append(out, mutation{p.put(n, fmt.Sprint(i-1))})
			}
		})
		return out
	},
	"called": func(p *program) (out []mutation) {
		every(p, func(n *ast.GoStmt) { out = append(out, mutation{p.put(n, p.of(n.Call))}) })
		return out
	},
	"again": func(p *program) (out []mutation) {
		for _, c := range p.calls("Do") {
			if len(c.call.Args) == 1 {
				out = append(out, mutation{p.put(c.call, p.of(c.call.Args[0])+"()")})
			}
		}
		return out
	},
	"if": func(p *program) (out []mutation) {
		every(p, func(n *ast.ForStmt) {
			if at := p.offset(n.For); n.Cond != nil && n.Init == nil && n.Post == nil {
				out = append(out, mutation{{at, at + len("for"), "if"}})
			}
		})
		return out
	},
}

// examplePrograms returns the programs of examples/go, each as one file of package k.
func examplePrograms(t *testing.T) (out []string) {
	dirs, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "go", "*", "*"))
	if err != nil || len(dirs) < 50 {
		t.Fatal(dirs, err)
	}
	test := regexp.MustCompile(`(?m)^func Test\w+\(`)
	for _, dir := range dirs {
		fset := token.NewFileSet()
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		imports, rest := map[string]bool{}, ""
		for _, name := range files {
			f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			from := f.Name.End()
			for _, i := range f.Imports {
				imports[i.Path.Value] = true
			}
			for _, d := range f.Decls {
				if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
					from = d.End()
				}
			}
			rest += string(text[fset.Position(from).Offset:])
		}
		out = append(out, "package k\n\nimport (\n"+
			strings.Join(slices.Sorted(maps.Keys(imports)), "\n")+"\n)\n"+
			test.ReplaceAllString(rest, "func TestK("))
	}
	return out
}

// mutable returns kernels, examples and generated programs, in turns.
func mutable(t *testing.T) func(seed uint64) string {
	skipped := func(text string) bool {
		return draws.MatchString(text) || network.MatchString(text) ||
			strings.Contains(text, "func TestMain(")
	}
	kernels := slices.DeleteFunc(kernels(t), skipped)
	examples := slices.DeleteFunc(examplePrograms(t), skipped)
	return func(seed uint64) string {
		r := rand.New(rand.NewPCG(seed, 10))
		switch seed % 4 {
		case 0:
			return examples[r.IntN(len(examples))]
		case 1:
			return testOf(gogen.NewConcurrent(r, gogen.Shape{Goroutines: 1 + r.IntN(2), Steps: 3,
				Vars: seed%8 == 1, Polls: r.IntN(3) == 0, RW: r.IntN(2) == 0}))
		}
		return kernels[r.IntN(len(kernels))]
	}
}

// mutant returns a program with a mistake, and the name of that.
func mutant(r *rand.Rand, text string) (operator, with string, err error) {
	p, err := newProgram(text)
	if err != nil {
		return "", "", err
	}
	found := map[string][]mutation{}
	for name, find := range operators {
		if all := find(p); len(all) > 0 {
			found[name] = all
		}
	}
	names := slices.Sorted(maps.Keys(found))
	operator = names[r.IntN(len(names))]
	return operator, found[operator][r.IntN(len(found[operator]))].in(text), nil
}

// TestOperators: each operator makes programs that compile.
func TestOperators(t *testing.T) {
	const text = `package k

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestK(t *testing.T) {
	var mu sync.RWMutex
	var wg sync.WaitGroup
	var n atomic.Int32
	var m int64
	once := &sync.Once{}
	_ = once
	cond := sync.NewCond(&mu)
	c := make(chan int)
	wg.Go(func() {
		once.Do(func() {})
		atomic.AddInt64(&m, 1)
		mu.Lock()
		defer mu.Unlock()
		for n.Load() == 0 {
			cond.Wait()
		}
		cond.Signal()
		c <- 1
		close(c)
	})
	go n.Add(1)
	select {
	case <-c:
	}
	wg.Wait()
}
`
	p, err := newProgram(text)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for name, find := range operators {
		for i, m := range find(p) {
			mutant := m.in(text)
			if _, err := newProgram(mutant); err != nil {
				t.Error(name, err)
			}
			texts[fmt.Sprintf("%s_%d", name, i)] = mutant
		}
	}
	joined := slices.Sorted(maps.Keys(texts))
	if sample.Long() { // the packages that are imported are checked, too
		joined, _ = joinable(t, joined, texts)
	}
	for name := range operators {
		if !slices.ContainsFunc(joined, func(s string) bool {
			return strings.HasPrefix(s, name+"_")
		}) {
			t.Errorf("no mutant by %s compiles", name)
		}
	}
}

// TestAgreeOnMistakes: the native machine and the interpreter agree on kernels, examples and
// generated programs with one of the usual mistakes.
func TestAgreeOnMistakes(t *testing.T) {
	if !sample.Long() {
		t.Skip("compiles Go's library once: -long")
	}
	program := mutable(t)
	texts, names := map[string]string{}, []string{}
	for i := range uint64(cmp.Or(*mutants, sample.Of(1, 1, 100))) {
		seed := *firstMutant + i
		operator, text, err := mutant(rand.New(rand.NewPCG(seed, 9)), program(seed))
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%d_%s", seed, operator)
		texts[name] = text
		names = append(names, name)
	}
	joined, apart := joinable(t, names, texts)
	t.Logf("%d in one package, %d apart, %d do not compile", len(joined), len(apart),
		len(names)-len(joined)-len(apart))
	results := agreeOn(t, joined, texts, true)
	maps.Copy(results, agreeOn(t, apart, texts, false))
	by := map[string]map[string]int{}
	for name, result := range results {
		_, operator, _ := strings.Cut(name, "_")
		if by[operator] == nil {
			by[operator] = map[string]int{}
		}
		by[operator][result]++
	}
	for _, operator := range slices.Sorted(maps.Keys(by)) {
		t.Logf("%s: %v", operator, by[operator])
	}
}
