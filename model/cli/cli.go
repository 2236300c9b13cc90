// Package cli makes a command of models in Go, with all sub-commands and flags of cpor:
//
//	func main() { cli.Main(twophase) }
//
//	go run . -por none -workers 4        # cpor run
//	go run . explore                     # the page in the browser
//	go run . run -checkpoint DIR; go run . resume DIR
//
// It is a package of its own because it imports all of cpor. Tests need only package model.
package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"cpor/cmd/cpor/command"
	"cpor/frontend"
	"cpor/frontend/source"
	"cpor/internal/cliflag"
	"cpor/model"
)

// Main executes the command line of the process and ends it with cpor's exit code. If there is one
// model, its name need not be in the command line, and nor need the sub-command run.
func Main(models ...*model.Model) {
	for _, m := range models {
		Provide(m)
	}
	command.Program = program(os.Args[0])
	os.Exit(command.Main(arguments(os.Args[1:], models)))
}

// program returns how users call the program of that path: what go run has built is gone
// afterwards.
func program(path string) string {
	if strings.Contains(filepath.ToSlash(path), "/go-build") {
		if info, ok := debug.ReadBuildInfo(); ok && info.Path != "" {
			return "go run " + info.Path
		}
	}
	return path
}

// Provide lets the commands find a model by its name, as if it were a file.
func Provide(m *model.Model) {
	frontend.Provide(m.Name(), func(o frontend.Options) (*frontend.Program, error) {
		return load(m, o)
	})
}

// named are the sub-commands that take the name of a model.
var named = []string{"run", "check", "simulate", "explore"}

// arguments returns the arguments of cpor for those of [Main].
func arguments(args []string, models []*model.Model) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !cliflag.IsHelp(args[0]) &&
		strings.TrimLeft(args[0], "-") != "version" {
		args = append([]string{"run"}, args...)
	}
	known := func(a string) bool {
		return slices.ContainsFunc(models, func(m *model.Model) bool { return m.Name() == a })
	}
	if len(models) == 1 && slices.Contains(named, args[0]) && !slices.ContainsFunc(args, known) &&
		!slices.ContainsFunc(args, cliflag.IsHelp) {
		args = append(slices.Clone(args), models[0].Name())
	}
	return args
}

func load(m *model.Model, o frontend.Options) (*frontend.Program, error) {
	for name, value := range o.Params {
		m = m.With(name, value)
	}
	s, err := m.System()
	if err != nil {
		return nil, err
	}
	p := &frontend.Program{System: s, Params: s.Params(), Warnings: s.Warnings()}
	texts := s.Sources()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if old, ok := o.Files[name]; ok && old != texts[name] {
			return nil, fmt.Errorf("%s has changed since: build the program again on each "+
				"machine, or begin anew", name)
		}
		p.Sources = append(p.Sources, source.New(name, texts[name]))
	}
	for _, q := range s.Properties() {
		f := frontend.Property{Name: q.Name, Pos: q.Pos, Text: q.Text,
			Formula: q.Formula, Modality: q.Modality}
		for _, x := range q.Predicates {
			f.Predicates = append(f.Predicates, frontend.Predicate(x))
		}
		p.Properties = append(p.Properties, f)
	}
	p.Coverage = func() *frontend.Coverage { return coverage(s, s.Counted()) }
	p.CoverageSoFar = func() *frontend.Coverage {
		c := coverage(s, s.CountedSoFar())
		c.Never = nil
		return c
	}
	return p, nil
}

func coverage(s *model.System, counts []uint64) *frontend.Coverage {
	c := &frontend.Coverage{Means: "the step that is added at the line was executed"}
	for _, x := range s.Steps(counts) {
		if x.N == 0 {
			c.Never = append(c.Never, frontend.Never{Of: x.Process, Pos: x.Pos, Text: x.Text,
				What: "is never executed"})
		}
		c.Counts = append(c.Counts, frontend.Count{Pos: x.Pos, N: x.N})
	}
	return c
}
