// Package promela is the front end for SPIN's language. It loads models as they are, without a C
// compiler, with SPIN's semantics. Below it are packages syntax (preprocessor and parser),
// program (names, and the control automata with SPIN's states and edges) and machine (which
// executes them).
//
// The states and transitions of the full search are those of SPIN 6.5.2 with
//
//	spin -o1 -o2 -o3 -a model.pml; cc -DSAFETY -DNOREDUCE pan.c; ./pan -c0
//
// that is, without statement merging, dead variable elimination and partial-order reduction.
// Tests compare the models of machine/testdata/micro, and generated ones where SPIN is
// installed.
//
// docs/promela.md lists the differences.
package promela

import (
	"errors"
	"fmt"
	"strings"

	"cpor/frontend"
	"cpor/frontend/promela/machine"
	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/ltl"
	"cpor/system"
)

func init() {
	frontend.Register(frontend.FrontEnd{
		Name:       "Promela",
		Extensions: []string{".pml", ".prom", ".promela", ".spin", ".pm", ".prm", ".pr", ".p"},
		Load:       load,
		Flags: []frontend.Flag{
			{Name: "I", Many: true, Usage: "also look for included files in this " +
				"`directory`; may be repeated"},
			frontend.FormulaFlag,
			{Name: "claim", Usage: "a `file` with never claims, which -ltl checks like those of " +
				"the model (spin -N)"},
			{Name: "lossy", Bool: true, Usage: "a message sent to a full channel is " +
				"lost, and the sender continues (spin -m)"},
			{Name: "empty-channels", Bool: true,
				Usage: "an end state is valid only if all channels are empty (pan -q)"},
			{Name: "inner-escapes", Bool: true, Usage: "try the inner one of nested unless " +
				"statements first (pan -J)"},
			{Name: "replay", Usage: "show the execution of a trail `file` written by SPIN or by " +
				"-trace x.trail, with its cycle, check what it violates, and search " +
				"nothing"},
			{Name: "semantics", Usage: "the `way` statements become steps: pure has the states " +
				"of spin -o1 -o2 -o3; merged joins a step with the following ones that touch " +
				"only locals, and sets locals that are not needed any more to 0, which leaves " +
				"fewer states (default: merged with a reduction; pure with -por none and -ltl)",
				Check: func(s string) error {
					if s != "pure" && s != "merged" {
						return errors.New("want pure or merged")
					}
					return nil
				}},
		},
	})
}

func load(f *source.File, o frontend.Options) (*frontend.Program, error) {
	var more []*source.File
	if name := o.Flags["claim"]; name != "" {
		claim, err := o.ReadFile(name)
		if err != nil {
			return nil, err
		}
		more = append(more, claim)
	}
	if f := o.Formula(); f != nil {
		more = append(more, f)
	}
	m, err := syntax.ParseWith(f, o.Params, strings.FieldsFunc(o.Flags["I"], func(r rune) bool {
		return r == '\n'
	}), o.ReadFile, more...)
	if err != nil {
		return nil, err
	}
	if o.Flags["claim"] != "" && len(m.Nevers) == 0 {
		return nil, fmt.Errorf("%s: there is no never claim in it", more[0].Name)
	}
	p, err := program.Resolve(m)
	if err != nil {
		return nil, err
	}
	opts := machine.Options{
		Lossy: o.Flags["lossy"] != "", EmptyChannels: o.Flags["empty-channels"] != "",
		InnerFirst: o.Flags["inner-escapes"] != "",
	}
	search := opts
	replays := o.Flags["replay"] != ""
	switch o.Flags["semantics"] {
	case "":
		search.Merged = o.Verdict && !replays
	case "merged":
		search.Merged = true
	}
	if search.Merged && replays {
		return nil, errors.New("-semantics merged has no meaning with -replay: a trail has the " +
			"steps of pure semantics")
	}
	s, props, err := build(p, search, opts)
	if err != nil {
		return nil, err
	}
	const means = "a process came to the first statement of the line"
	soFar := func() *frontend.Coverage {
		c := &frontend.Coverage{Means: means}
		s.ArrivalsSoFar(func(at system.Pos, n uint64) {
			c.Counts = append(c.Counts, frontend.Count{Pos: at, N: n})
		})
		return c
	}
	coverage := func() *frontend.Coverage {
		c := &frontend.Coverage{Means: means}
		for _, u := range s.Unreached() {
			c.Never = append(c.Never, frontend.Never{Of: "proctype " + u.Proc, Pos: u.Pos,
				Text: u.Text, Property: u.Assertion})
		}
		s.Arrivals(func(at system.Pos, n uint64) {
			c.Counts = append(c.Counts, frontend.Count{Pos: at, N: n})
		})
		return c
	}
	plain := system.Apart(s).(*machine.System)
	out := &frontend.Program{System: s, Properties: props, Params: map[string]any{}, Edges: true,
		Coverage: coverage, CoverageSoFar: soFar, WriteTrail: trails{p, plain, props}.write,
		Sources: m.Files, Warnings: p.Warnings.Error(), Semantics: "pure"}
	if search.Merged {
		out.Semantics = "merged"
		out.Untimed = "-semantics merged leaves out states that a property over time can " +
			"distinguish; use -semantics pure with -ltl"
	}
	if name := o.Flags["replay"]; name != "" {
		trail, err := o.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if out.Replay, err = read(p, opts, out, trail.Text); err != nil {
			return nil, fmt.Errorf("%s: %v", name, err)
		}
	}
	return out, nil
}

// build makes the system to search, and the properties.
func build(p *program.Program, search, opts machine.Options) (*machine.System, []frontend.Property,
	error) {
	s, err := machine.New(p, search)
	if err != nil {
		return nil, nil, err
	}
	props, err := properties(p, s, opts)
	return s, props, err
}

// properties returns the temporal properties: ltl blocks, never claims, and the cycles of
// labels.
func properties(p *program.Program, s *machine.System, opts machine.Options) ([]frontend.Property,
	error) {
	var props []frontend.Property
	place := func(pos syntax.Pos) system.Pos {
		line, col := pos.Line()
		return system.Pos{File: pos.File.Name, Line: line, Col: col}
	}
	taken := map[string]bool{}
	for _, l := range p.LTLs {
		q := frontend.Property{Name: l.Name, Text: l.Text, Formula: l.Formula, Pos: place(l.Pos),
			Modality: l.Modality, Refused: l.Refused}
		if p.UsesNumber {
			// To SPIN, a formula is a claim, and so one more that runs.
			o := opts
			o.Watched = true
			var err error
			if q.System, err = machine.New(p, o); err != nil {
				return nil, err
			}
		}
		taken[l.Name] = true
		props = append(props, q)
	}
	never := func(s *machine.System) ltl.Formula {
		return ltl.Not(ltl.Always(ltl.Eventually(ltl.Atom(s.Accepting()))))
	}
	for _, c := range p.Claims {
		if taken[c.Name] {
			return nil, syntax.Errors{
				{Pos: c.Decl.Name.Pos, Len: len(c.Name),
					Text: "a never claim and an ltl property are both called " + c.Name}}
		}
		o := opts
		o.Claim = c
		claimed, err := machine.New(p, o)
		if err != nil {
			return nil, err
		}
		taken[c.Name] = true
		props = append(props, frontend.Property{Name: c.Name, Kind: "never claim",
			Text: "the claim does not come to its end, and no accept label is visited again and " +
				"again", Formula: never(claimed), Pos: place(c.Decl.Pos), System: claimed})
	}
	accept, progress := labels(p)
	at := place(p.Procs[0].Decl.Pos)
	if !taken["no-acceptance"] {
		props = append(props, frontend.Property{Name: "no-acceptance", Kind: "property",
			Text: "no accept label is visited infinitely often", Formula: never(s), Pos: at,
			Asked: !accept || len(props) > 0})
	}
	if !taken["progress"] {
		o := opts
		o.Claim = machine.NonProgress(p)
		np, err := machine.New(p, o)
		if err != nil {
			return nil, err
		}
		props = append(props, frontend.Property{Name: "progress", Kind: "property",
			Text: "progress labels are visited infinitely often", Formula: never(np), Pos: at,
			System: np, Asked: !progress})
	}
	return props, nil
}

// labels reports whether processes have accept and progress labels.
func labels(p *program.Program) (accept, progress bool) {
	for _, pr := range p.Procs {
		for _, s := range pr.States {
			accept, progress = accept || s.Accept, progress || s.Progress
		}
	}
	return accept, progress
}
