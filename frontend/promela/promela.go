// Package promela is the front end for SPIN's language. It reads a model as it
// is, without a C compiler, and gives it SPIN's semantics: the packages below it
// are syntax (preprocessor and parser), program (names, and the control automata
// with the states and edges that SPIN makes) and machine (which executes them).
//
// What is compared with what: states and transitions of the full search are those
// of SPIN 6.5.2 with
//
//	spin -o1 -o2 -o3 -a model.pml; cc -DSAFETY -DNOREDUCE pan.c; ./pan -c0
//
// that is, without statement merging, dead variable elimination and partial-order
// reduction. Held to it are the models of machine/testdata/micro and generated
// ones, wherever SPIN is installed.
//
// Where the two differ: docs/promela.md.
package promela

import (
	"errors"

	"cpor/frontend"
	"cpor/frontend/model/source"
	"cpor/frontend/promela/machine"
	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/system"
)

func init() {
	frontend.Register(frontend.FrontEnd{
		Name:       "Promela",
		Extensions: []string{".pml", ".prom", ".promela", ".spin"},
		Load:       load,
	})
}

func load(f *source.File, o frontend.Options) (*frontend.Program, error) {
	m, err := syntax.Parse(f, o.Params)
	if err != nil {
		return nil, err
	}
	p, err := program.Resolve(m)
	if err != nil {
		return nil, err
	}
	if err := unsupported(p); err != nil {
		return nil, err
	}
	s, err := machine.New(p, machine.Options{})
	if err != nil {
		return nil, err
	}
	var props []frontend.Property
	for _, l := range p.LTLs {
		line, col := l.Pos.Line()
		props = append(props, frontend.Property{
			Name: l.Name, Text: l.Text, Formula: l.Formula,
			Pos: system.Pos{File: l.Pos.File.Name, Line: line, Col: col},
		})
	}
	return &frontend.Program{System: s, Properties: props, Params: map[string]any{}, Sources: m.Files}, nil
}

// unsupported refuses what would otherwise be left out silently.
func unsupported(p *program.Program) error {
	var list syntax.Errors
	say := func(pos syntax.Pos, n int, text string) {
		list = append(list, &syntax.Error{Pos: pos, Len: n, Text: text})
	}
	if t := p.Trace; t != nil {
		say(t.Decl.Pos, len("trace"), "event traces are not checked yet; remove this one to check assertions, invalid end states and run-time errors")
	}
	if len(list) == 0 {
		return nil
	}
	return errors.Join(list)
}
