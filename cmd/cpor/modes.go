package main

import (
	"cpor/internal/cliflag"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// mode is one of the ways in which `cpor run` works.
type mode int

const (
	stored   mode = iota // -search stateful: assertions, invariants, deadlocks; covered states are stored
	unstored             // -search stateless: the same, without stored states
	overTime             // -ltl: temporal properties
)

// modeFlags are the flags that choose the modes.
var modeFlags = [...]string{stored: "-search stateful", unstored: "-search stateless", overTime: "-ltl"}

// uses says in which modes a flag has a meaning, and there with which
// reductions; nil stands for all that the mode has.
type uses map[mode][]string

var (
	everywhere = uses{stored: nil, unstored: nil, overTime: nil}
	violations = uses{stored: nil, unstored: nil}
)

// flagUses has every flag of `cpor run`. A flag is refused where it has no
// meaning: one that is silently ignored lets people believe in a search that
// was not made. What depends on the values of several flags is checked with
// these, in the validate methods.
var flagUses = map[string]uses{
	"D":               everywhere,
	"por":             everywhere,
	"workers":         everywhere,
	"timeout":         everywhere,
	"max-memory":      everywhere,
	"json":            everywhere,
	"trace":           everywhere,
	"q":               everywhere,
	"profile":         everywhere,
	"search":          everywhere,
	"all":             violations,
	"deadlock":        violations,
	"max-states":      {stored: nil, overTime: nil},
	"validate":        {stored: nil, overTime: {"transparent", "invisible"}},
	"store":           {stored: nil},
	"cv-order":        {stored: {"cartesian"}},
	"races":           violations,
	"init-thread":     {stored: {"locks", "invisible-first", "none"}, unstored: nil},
	"max-invisible":   {stored: {"locks", "invisible-first"}},
	"select":          {stored: {"locks"}},
	"invisible":       {unstored: nil},
	"max-depth":       {unstored: nil},
	"deepen":          {unstored: nil},
	"undo":            {unstored: nil},
	"max-transitions": {unstored: nil},
	"ltl":             {overTime: nil},
	"fair":            {overTime: nil},
}

// mode returns the mode that the flags ask for.
func (c *runConfig) mode() mode {
	switch {
	case c.stateless.on:
		return unstored
	case c.ltl.asked():
		return overTime
	}
	return stored
}

// checkModes refuses a flag that has no meaning in the mode.
func (c *runConfig) checkModes(f *cliflag.Set) (err error) {
	m := c.mode()
	f.Visit(func(fl *flag.Flag) {
		u := flagUses[fl.Name]
		if _, ok := u[m]; ok || err != nil {
			return
		}
		var of []string
		for other, name := range modeFlags {
			if _, ok := u[mode(other)]; ok {
				of = append(of, name)
			}
		}
		switch {
		case fl.Name == "ltl":
			err = fmt.Errorf("-ltl has no meaning with %s, which stores no states", modeFlags[m])
		case m == stored:
			err = fmt.Errorf("-%s is an option of %s", fl.Name, strings.Join(of, " and "))
		case m == overTime && !f.Given("ltl"):
			err = fmt.Errorf("-%s has no meaning with -por %v, which checks ltl properties; it is an option of %s", fl.Name, *c.ltl.reduction, strings.Join(of, " and "))
		default:
			err = fmt.Errorf("-%s has no meaning with %s; it is an option of %s", fl.Name, modeFlags[m], strings.Join(of, " and "))
		}
	})
	return err
}

// checkReductions refuses a flag that has no meaning with the reduction.
func (c *runConfig) checkReductions(f *cliflag.Set) (err error) {
	m, por := c.mode(), c.por()
	f.Visit(func(fl *flag.Flag) {
		if with := flagUses[fl.Name][m]; with != nil && !slices.Contains(with, por) && err == nil {
			err = fmt.Errorf("-%s is an option of -por %s, not of -por %s", fl.Name, strings.Join(with, " and "), por)
		}
	})
	return err
}

// por returns the name of the reduction, the default of the mode included.
func (c *runConfig) por() string {
	switch c.mode() {
	case unstored:
		return c.stateless.reduction.String()
	case overTime:
		return c.ltl.reduction.String()
	}
	return c.reduction.name
}
