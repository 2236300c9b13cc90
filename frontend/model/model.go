// Package model loads models written in cpor's language (docs/language.md).
//
// It is the front door of the packages below it. They process a model in this order: syntax
// parses the text, resolve resolves names and types and applies parameters, compile translates
// to the instructions of a machine, and machine executes them as a [system.System].
package model

import (
	"cpor/frontend"
	"cpor/frontend/model/compile"
	"cpor/frontend/model/machine"
	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

// Options are what the user sets besides the file.
type Options struct {
	// Params overrides top-level constants by name: -D NAME=VALUE.
	Params map[string]string
	// ReadFile reads a file that the model includes; nil if it cannot include any.
	ReadFile func(name string) (*source.File, error)

	formula *source.File // with one more property; may be nil
}

// Model is a loaded model.
type Model struct {
	sys      *machine.System
	resolved *resolve.Program
	files    []*source.File
}

// Parse compiles the text of a model file; name is in messages.
func Parse(name, text string, o Options) (*Model, error) {
	return load(source.New(name, text), o)
}

func load(f *source.File, o Options) (*Model, error) {
	files, err := included(f, o.ReadFile)
	if err != nil {
		return nil, err
	}
	if o.formula != nil {
		files = append(files, o.formula)
	}
	r, err := resolve.Check(source.Join(files), resolve.Options{Params: o.Params})
	if err != nil {
		return nil, err
	}
	p, err := compile.Compile(r)
	if err != nil {
		return nil, err
	}
	s, err := machine.New(p)
	if err != nil {
		return nil, err
	}
	return &Model{sys: s, resolved: r, files: files}, nil
}

// System returns the model as a system.
func (m *Model) System() system.System { return m.sys }

// Properties returns the temporal properties in the order of the file. The atoms
// of their formulas are the names of the system's propositions (see
// [system.Temporal], which System implements).
func (m *Model) Properties() []frontend.Property {
	var ps []frontend.Property
	for i, p := range m.sys.Properties() {
		q := frontend.Property{Name: p.Name, Pos: m.sys.PropertyPos(i), Text: p.Text,
			Formula: p.Formula, Modality: p.Modality}
		for k, x := range p.Predicates {
			q.Predicates = append(q.Predicates, frontend.Predicate{Pos: m.sys.PredicatePos(i, k),
				Prop: x.Prop, Atoms: x.Atoms, Initial: x.Initial})
		}
		ps = append(ps, q)
	}
	return ps
}

func init() {
	frontend.Register(frontend.FrontEnd{
		Name: "cpor's language", Extensions: []string{".model"}, Default: true,
		Format: syntax.Format,
		Flags:  []frontend.Flag{frontend.FormulaFlag},
		Load: func(f *source.File, o frontend.Options) (*frontend.Program, error) {
			m, err := load(f, Options{Params: o.Params, ReadFile: o.ReadFile, formula: o.Formula()})
			if err != nil {
				return nil, err
			}
			return &frontend.Program{System: m.System(), Params: m.Params(),
				Properties: m.Properties(), Coverage: m.Coverage, CoverageSoFar: m.CoverageSoFar,
				Freely: m.Freely, Sources: m.files}, nil
		},
	})
}

// Params returns the constants that -D can set, with the values that they have:
// int64, bool, or the name of an enumeration's value.
func (m *Model) Params() map[string]any {
	ps := map[string]any{}
	for _, c := range m.resolved.Consts {
		if c.Enum {
			continue
		}
		if name, ok := c.Type.Names[c.Value]; ok { // a resolved constant has a type
			ps[c.Name] = name
		} else if c.Type.Kind == resolve.Bool || c.Type.Kind == resolve.UntypedBool {
			ps[c.Name] = c.Value != 0
		} else {
			ps[c.Name] = c.Value
		}
	}
	return ps
}
