//go:build !models

package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cpor/engine/memory"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/testcmd"
	"cpor/internal/spell"
	"cpor/system"
)

// goTests is the command for Go tests.
var goTests = []*command{
	{
		name: "test", summary: "explore Go tests under every schedule",
		run: func(e *env, args []string) int {
			return testcmd.Test(e.ctx, args, e.stdout, e.stderr)
		},
	},
}

// runGo is `cpor run` of a main package.
func runGo(e *env, args []string) int {
	return testcmd.Run(e.ctx, args, e.stdout, e.stderr)
}

// goPrinting makes a system of a Go package, for cpor simulate: its states comprise what was
// printed.
func goPrinting(ctx context.Context, dir, test string) (system.System, error) {
	return goProgram(ctx, dir, test, gosrc.Explore{NoRaces: true, Outcomes: true})
}

// goProgram makes a system of a test, or of a main package. Data races are left out:
// what happened before is in no state that one could go back to.
func goProgram(ctx context.Context, dir, test string, x gosrc.Explore) (*gosrc.Program, error) {
	memory.Patient(memory.Load)
	pkgs, err := gosrc.Load(ctx, []string{"."}, gosrc.Options{Dir: dir, Tests: test != ""})
	if err != nil {
		return nil, err
	}
	if len(pkgs) != 1 {
		return nil, fmt.Errorf("one package at a time, not %d: %s", len(pkgs), dir)
	}
	p := pkgs[0]
	if len(p.Errors) > 0 {
		return nil, errors.Join(p.Errors...)
	}
	var names []string
	for _, t := range p.Tests() {
		names = append(names, t.Name)
	}
	if test != "" && !slices.Contains(names, test) {
		return nil, fmt.Errorf("%s has no test %s%s", p.Path, test, spell.DidYouMean(test, names,
			""))
	}
	if test == "" && p.Name != "main" {
		return nil, fmt.Errorf("%s is package %s: which of its tests? Name one with -test", p.Path,
			p.Name)
	}
	compiled, err := p.Compile()
	if err != nil {
		return nil, err
	}
	if test == "" {
		return compiled.Main(x)
	}
	return compiled.Test(test, x)
}
