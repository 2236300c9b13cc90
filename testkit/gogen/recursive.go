package gogen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Recursive makes a random program whose types refer to each other in circles, by every kind of
// reference: pointers, slices, maps, channels, functions, interfaces, atomic pointers, generic
// and embedded types. It prints sizes, offsets and alignments, fills neighboring values with
// numbers that are all different, hands them around, and prints what is in them. A layout
// that is too small makes two of them share memory.
func Recursive(r *rand.Rand) string {
	g := &recursive{gen: &gen{r: r}}
	return g.program()
}

type recursive struct {
	*gen
	types []recType
	next  int // the number that the next leaf gets
}

// recType is a declared type. Types contain those with higher numbers only, and refer to all.
type recType struct {
	name   string
	fields []recField
}

type recField struct {
	name     string // "" if it is embedded
	typ      string
	kind     recKind
	of       int // the type that it is made of
	embedded bool
}

type recKind int

const (
	recInt recKind = iota
	recString
	recBool
	recValue // a type itself
	recArray // [2]T
	recPair  // pair[T], which contains T
	recReference
)

// references are the ways to refer to a type: how it is written, and a value that is not nil.
var references = []struct{ typ, value string }{
	{"*%s", "new(%s)"},
	{"[]%s", "make([]%s, 2)"},
	{"map[string]%s", "map[string]%s{\"k\": {}}"},
	{"map[int8]*%s", "map[int8]*%s{1: {}}"},
	{"chan %s", "make(chan %s, 1)"},
	{"func(%s) int", "func(%s) int { return 1 }"},
	{"interface{ is(%s) bool }", "is[%s]{}"},
	{"[2]*%s", "[2]*%s{{}, {}}"},
	{"box[%s]", "box[%s]{v: 1}"},
	{"[]func() *%s", "[]func() *%s{nil}"},
	{"**%s", "new(*%s)"},
}

const recursivePrelude = `package main

import (
	"sync/atomic"
	"unsafe"
)

var _ atomic.Bool

type box[T any] struct {
	p *T
	v int
	next []box[T]
}
type pair[T any] struct {
	a T
	n int8
	b T
	other *pair[T]
}
type is[T any] struct{}
func (is[T]) is(T) bool { return true }
func through[T any](x T) T {
	var a any = x
	c := make(chan T, 1)
	c <- a.(T)
	m := map[string][1]T{"k": {<-c}}
	f := func() T { return m["k"][0] }
	s := append([]T{f()}, x)
	p := &s[0]
	return *p
}
`

func (g *recursive) program() string {
	n := 2 + g.r.IntN(4)
	for i := range n {
		g.types = append(g.types, recType{name: fmt.Sprintf("T%d", i)})
	}
	for i := range n {
		for k := range 1 + g.r.IntN(4) {
			g.types[i].fields = append(g.types[i].fields, g.field(i, k))
		}
	}
	g.b.WriteString(recursivePrelude)
	for _, i := range g.r.Perm(n) {
		g.line("type %s struct {", g.types[i].name)
		for _, f := range g.types[i].fields {
			if f.embedded {
				g.line("\t%s", f.typ)
			} else {
				g.line("\t%s %s", f.name, f.typ)
			}
		}
		g.line("}")
	}
	g.line("func main() {")
	g.indent++
	for _, i := range g.r.Perm(n) {
		g.exercise(i)
	}
	g.indent--
	g.line("}")
	return g.b.String()
}

// field makes field k of type i.
func (g *recursive) field(i, k int) recField {
	f := recField{name: fmt.Sprintf("f%d", k)}
	contained := i + 1 + g.r.IntN(max(1, len(g.types)-i-1))
	if contained < len(g.types) && g.chance(45) {
		f.of = contained
		name := g.types[contained].name
		switch g.r.IntN(4) {
		case 0:
			f.kind, f.typ = recArray, "[2]"+name
		case 1:
			f.kind, f.typ = recPair, "pair["+name+"]"
		case 2:
			// One field of a name is enough.
			for _, other := range g.types[i].fields {
				if other.name == name {
					f.kind, f.typ = recValue, name
					return f
				}
			}
			f.kind, f.typ, f.name, f.embedded = recValue, name, name, true
		default:
			f.kind, f.typ = recValue, name
		}
		return f
	}
	switch g.r.IntN(5) {
	case 0:
		f.kind, f.typ = recString, "string"
	case 1:
		f.kind, f.typ = recBool, "bool"
	case 2:
		f.kind, f.typ = recInt, pick(g.gen, []string{"int8", "int16", "int32", "int64", "uint8"})
	default:
		f.kind, f.of = recReference, g.r.IntN(len(g.types))
		how := references[g.r.IntN(len(references))]
		f.typ = fmt.Sprintf(how.typ, g.types[f.of].name)
		if g.chance(15) {
			f.typ, f.kind = fmt.Sprintf("atomic.Pointer[%s]", g.types[f.of].name), recValue
			f.of = -1
		}
	}
	return f
}

// leaf is a place in a value that is filled and printed.
type leaf struct {
	path string
	kind recKind
	typ  string
	of   int
}

// leaves returns the places in a value of type i at a path.
func (g *recursive) leaves(i int, path string) []leaf {
	var out []leaf
	for _, f := range g.types[i].fields {
		at := path + "." + f.name
		switch f.kind {
		case recValue:
			if f.of >= 0 {
				out = append(out, g.leaves(f.of, at)...)
			}
		case recArray:
			out = append(out, g.leaves(f.of, at+"[0]")...)
			out = append(out, g.leaves(f.of, at+"[1]")...)
		case recPair:
			out = append(out, g.leaves(f.of, at+".a")...)
			out = append(out, leaf{at + ".n", recInt, "int8", 0})
			out = append(out, g.leaves(f.of, at+".b")...)
		default:
			out = append(out, leaf{at, f.kind, f.typ, f.of})
		}
	}
	return out
}

// atomics reports whether a type contains an atomic pointer, which must not be copied.
func (g *recursive) atomics(i int) bool {
	for _, f := range g.types[i].fields {
		if f.kind == recValue && f.of < 0 {
			return true
		}
		if (f.kind == recValue || f.kind == recArray || f.kind == recPair) && g.atomics(f.of) {
			return true
		}
	}
	return false
}

// exercise assembles what is done with type i.
func (g *recursive) exercise(i int) {
	t := g.types[i]
	g.line("{")
	g.indent++
	defer func() { g.indent--; g.line("}") }()
	xs := g.name("xs")
	switch g.r.IntN(3) {
	case 0:
		g.line("%s := make([]%s, 2)", xs, t.name)
	case 1:
		g.line("var both [2]%s", t.name)
		g.line("%s := both[:]", xs)
	default:
		g.line("%s := []*%s{new(%s), {}}", xs, t.name, t.name)
	}
	g.line("println(unsafe.Sizeof(%s[0]), unsafe.Sizeof(%s{}), unsafe.Alignof(%s{}))", xs, t.name,
		t.name)
	for _, f := range t.fields {
		g.line("println(unsafe.Offsetof(%s[0].%s))", xs, f.name)
	}
	for e := range 2 {
		for _, l := range g.leaves(i, fmt.Sprintf("%s[%d]", xs, e)) {
			g.fill(l)
		}
	}
	if !g.atomics(i) {
		v := g.name("v")
		g.line("%s := through(%s[0])", v, xs)
		if g.chance(50) {
			g.line("%s[0] = through(%s[1])", xs, xs)
			g.line("%s[1] = %s", xs, v)
		} else {
			g.line("%s[1], %s[0] = %s, through(%s[1])", xs, xs, v, xs)
		}
	}
	for e := range 2 {
		for _, l := range g.leaves(i, fmt.Sprintf("%s[%d]", xs, e)) {
			switch {
			case l.kind != recReference:
				g.line("println(%s)", l.path)
			case strings.HasPrefix(l.typ, "box["):
				g.line("println(%s.v, %s.p == nil, len(%s.next))", l.path, l.path, l.path)
			case strings.HasPrefix(l.typ, "[2]"):
				g.line("println(%s[0] != nil, %s[1] != nil, %s[0] == %s[1])", l.path, l.path,
					l.path, l.path)
			default:
				g.line("println(%s != nil)", l.path)
			}
			if l.kind == recReference && strings.HasPrefix(l.typ, "*") && !strings.HasPrefix(l.typ,
				"**") {
				// What it points to has a layout of its own.
				for _, far := range g.leaves(l.of, l.path) {
					if far.kind == recInt {
						g.fill(far)
						g.line("println(%s)", far.path)
						break
					}
				}
			}
		}
	}
}

// fill writes a value that no other leaf has.
func (g *recursive) fill(l leaf) {
	g.next++
	switch l.kind {
	case recInt:
		g.line("%s = %d", l.path, g.next%120)
	case recString:
		g.line("%s = \"s%d\"", l.path, g.next)
	case recBool:
		g.line("%s = %t", l.path, g.next%2 == 0)
	default:
		for _, how := range references {
			if name := g.types[l.of].name; fmt.Sprintf(how.typ, name) == l.typ {
				g.line("%s = %s", l.path, fmt.Sprintf(how.value, name))
			}
		}
	}
}
