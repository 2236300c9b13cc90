package command

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"cpor/engine"
	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/spell"
)

// anywhere are the flags of `cpor run` that mean something to every engine.
var anywhere = []string{"D", "U", "lang", "por", "workers", "timeout", "max-memory", "json",
	"trace", "trace-states", "sarif", "minimize", "coverage", "q", "color", "profile",
	"search"}

// takes are the flags that mean something to the engines that take the option.
var takes = map[string]engine.OptionSet{
	"all":             engine.TakesAll,
	"deadlock":        engine.TakesDeadlocks,
	"validate":        engine.TakesValidate,
	"max-states":      engine.TakesMaxStates,
	"max-transitions": engine.TakesMaxTransitions,
	"max-depth":       engine.TakesMaxDepth,
	"cluster":         engine.TakesRanks,

	"disk": engine.TakesDisk,

	"checkpoint":          engine.TakesCheckpoint,
	"checkpoint-interval": engine.TakesCheckpoint,
}

// Uses reports whether a flag means something to an engine. A flag is refused where it does not:
// one that is silently ignored lets people believe in a search that was not made. What depends
// on the values of several flags is checked by the engine.
func Uses(e *engine.Entry, name string) bool {
	switch {
	case slices.Contains(anywhere, name), OfFrontEnd(name):
		return true
	case name == "ltl":
		return engine.LookupMode(e.Mode).Temporal
	case takes[name] != 0:
		return e.Takes&takes[name] != 0
	}
	return slices.ContainsFunc(e.Flags, func(f engine.Flag) bool { return f.About().Name == name })
}

// OfFrontEnd reports whether a flag is one of a front end, which refuses it for the files of
// others.
func OfFrontEnd(name string) bool {
	return slices.ContainsFunc(frontend.FrontEnds(), func(fe frontend.FrontEnd) bool {
		return slices.ContainsFunc(fe.Flags, func(f frontend.Flag) bool { return f.Name == name })
	})
}

// users returns the names of the engines of a mode that a flag means something to.
func users(mode *engine.Mode, name string) []string {
	var names []string
	for _, e := range engine.Entries(mode.Name) {
		if Uses(e, name) {
			names = append(names, e.Name)
		}
	}
	return names
}

// defineEngineFlags defines the flags of the engines, and shows all flags under
// their headings.
func (c *runConfig) defineEngineFlags(f *cliflag.Set) {
	groups := []struct {
		title string
		flags []string
	}{
		{"What is searched:", []string{"D", "U", "lang", "ltl", "por", "deadlock", "all"}},
		{"How, and how far:", []string{"workers", "cluster", "timeout", "max-states", "max-memory",
			"disk", "checkpoint", "checkpoint-interval", "validate"}},
		{"Search without stored states:", []string{"search", "max-depth", "max-transitions"}},
	}
	for _, e := range engine.Entries("") {
		for _, ef := range e.Flags {
			about := ef.About()
			if f.Lookup(about.Name) != nil {
				continue // another engine has it, too
			}
			set := func(s string) error { return c.values.Set(ef, s) }
			if about.Bool {
				f.BoolFunc(about.Name, about.Usage, set)
			} else {
				f.Func(about.Name, about.Usage, set)
			}
			known := false
			for i := range groups {
				if groups[i].title == about.Group {
					groups[i].flags = append(groups[i].flags, about.Name)
					known = true
				}
			}
			if !known {
				groups = append(groups, struct {
					title string
					flags []string
				}{about.Group, []string{about.Name}})
			}
		}
	}
	for _, g := range groups {
		f.Group(g.title, g.flags...)
	}
	f.Common("D", "ltl", "all", "search", "por", "workers", "timeout", "max-memory", "trace",
		"json")
	f.Group("What is printed:", "json", "trace", "trace-states", "sarif", "minimize", "coverage",
		"q", "color", "profile")
}

// searchNames returns the values of -search.
func searchNames() []string {
	var names []string
	for _, m := range engine.Modes() {
		if m.Summary != "" {
			names = append(names, m.Name)
		}
	}
	return names
}

// takers lists the values of -search some of whose engines have a use for a flag, for
// the help.
func takers(name string) string {
	var searches []string
	for _, mode := range searchNames() {
		if len(users(engine.LookupMode(mode), name)) > 0 {
			searches = append(searches, mode)
		}
	}
	return "-search " + inWords(searches, "or")
}

// searchUsage is the help of -search.
func searchUsage() string {
	var ways []string
	for _, m := range engine.Modes() {
		if m.Summary != "" {
			ways = append(ways, m.Name+" "+m.Summary)
		}
	}
	return "`how` to search: " + strings.Join(ways, "; ")
}

// inWords returns names as people list them: "a, b or c" for the word "or".
func inWords(names []string, word string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " " + word + " " + names[n-1]
	}
	return strings.Join(names, "")
}

// asked returns the mode that the flags ask for.
func (c *runConfig) asked() *engine.Mode {
	var byDefault *engine.Mode
	for _, m := range engine.Modes() {
		switch {
		case m.Default:
			byDefault = m
		case c.search == m.Name:
			return m
		}
	}
	for _, m := range engine.Modes() {
		if m.Temporal && (c.ltl != "" || c.por != "" && onlyOf(m, c.por)) {
			return m
		}
	}
	return byDefault
}

// onlyOf reports whether a mode has a reduction of that name, and no other mode has.
func onlyOf(m *engine.Mode, name string) bool {
	has := modesWith(name)
	return len(has) == 1 && has[0] == m
}

// modesWith returns the modes that have a reduction of that name.
func modesWith(name string) []*engine.Mode {
	var has []*engine.Mode
	for _, m := range engine.Modes() {
		if _, err := engine.Lookup(m.Name, name); err == nil {
			has = append(has, m)
		}
	}
	return has
}

// choose chooses the mode and the engine, and refuses what does not go together.
func (c *runConfig) choose(f *cliflag.Set) (err error) {
	f.Visit(func(fl *flag.Flag) {
		if fl.Name != "cluster" || c.cluster { // -cluster=false asks for nothing
			c.values.Give(fl.Name)
		}
	})
	c.mode = c.asked()
	if err := c.checkMode(f); err != nil {
		return err
	}
	if c.por == "" {
		if c.entry, err = c.mode.Chosen(&c.values, &c.Options); err != nil {
			return err
		}
	} else if c.entry, err = engine.Lookup(c.mode.Name, c.por); err != nil {
		return c.otherMode()
	}
	if err := c.checkLimits(f); err != nil {
		return err
	}
	if c.entry.Check != nil {
		if err := c.entry.Check(&c.values, &c.Options); err != nil {
			return err
		}
	}
	f.Visit(func(fl *flag.Flag) {
		if !Uses(c.entry, fl.Name) && err == nil {
			err = fmt.Errorf("-%s is an option of -por %s, not of -por %s", fl.Name,
				inWords(users(c.mode, fl.Name), "and"), c.entry.Name)
		}
	})
	return err
}

// checkLimits refuses values that make no sense, alone or together.
func (c *runConfig) checkLimits(f *cliflag.Set) error {
	switch {
	case f.Given("max-depth") && c.MaxDepth < 1:
		return fmt.Errorf("-max-depth %d: the number must be above 0", c.MaxDepth)
	case f.Given("max-transitions") && c.MaxTransitions == 0:
		return errors.New("-max-transitions 0: the number must be above 0")
	case c.cluster && c.profile != "":
		return errors.New("-profile profiles a single process and cannot be combined with -cluster")
	case c.Disk != "" && c.MaxMemory == 0:
		return errors.New("-disk needs -max-memory SIZE: the search continues on disk beyond " +
			"that memory")
	case c.cluster && c.Validate:
		return errors.New("-validate checks a single process and cannot be combined with -cluster")
	}
	return nil
}

// otherMode says what is wrong with a reduction that the mode does not have.
func (c *runConfig) otherMode() error {
	other := modesWith(c.por)[0]
	switch {
	case !c.mode.Default && c.mode.Temporal:
		return fmt.Errorf("-por %s %s; with %s use %s", c.por, c.mode.Lacks, c.mode.Asked,
			inWords(engine.Names(c.mode.Name), "or"))
	case !c.mode.Default:
		return fmt.Errorf("-por %s %s; with %s use %s", c.por, c.mode.Lacks, c.mode.Asked,
			inWords(engine.Names(c.mode.Name), "or"))
	case c.search != "":
		return fmt.Errorf("-por %s is a reduction of %s", c.por, other.Asked)
	}
	return fmt.Errorf("-por %s is a reduction of %s; add %s", c.por, other.Of, other.Asked)
}

// checkMode refuses a flag that has no meaning in the mode.
func (c *runConfig) checkMode(f *cliflag.Set) (err error) {
	f.Visit(func(fl *flag.Flag) {
		if err != nil || len(users(c.mode, fl.Name)) > 0 {
			return
		}
		var of []string
		for _, m := range engine.Modes() {
			if len(users(m, fl.Name)) > 0 {
				of = append(of, m.Asked)
			}
		}
		switch {
		case c.mode.Unkept != "" && takes[fl.Name] == engine.TakesCheckpoint:
			err = fmt.Errorf("-%s: %s cannot be saved: %s", fl.Name, c.mode.Asked, c.mode.Unkept)
		case fl.Name == "ltl":
			err = fmt.Errorf("-ltl has no meaning with %s, which %s", c.mode.Asked, c.mode.Without)
		case c.mode.Default:
			err = fmt.Errorf("-%s is an option of %s", fl.Name, inWords(of, "and"))
		case c.mode.Temporal && c.ltl == "":
			err = fmt.Errorf("-%s has no meaning with -por %s, which checks ltl properties; it "+
				"is an option of %s", fl.Name, c.por, inWords(of, "and"))
		default:
			err = fmt.Errorf("-%s has no meaning with %s; it is an option of %s", fl.Name,
				c.mode.Asked, inWords(of, "and"))
		}
	})
	return err
}

// properties returns the temporal properties that are to be checked.
func (c *runConfig) properties(m *frontend.Program) ([]engine.Property, error) {
	if len(propertyNames(m)) == 0 && (c.ltl == "" || c.ltl == "all" || len(m.Properties) == 0) {
		return nil, errors.New("the model has no ltl property; declare one: ltl name { [] " +
			"(request -> <> reply) }")
	}
	if m.Untimed != "" {
		return nil, errors.New(m.Untimed)
	}
	var ps []engine.Property
	for _, p := range m.Properties {
		if (c.ltl == "" || c.ltl == "all") && !p.Asked || c.ltl == p.Name {
			if p.Refused != nil {
				return nil, p.Refused
			}
			ps = append(ps, engineProperty(&p))
		}
	}
	if len(ps) == 0 {
		var names []string
		for _, p := range m.Properties {
			names = append(names, p.Name)
		}
		return nil, fmt.Errorf("-ltl %s: the model has no such property%s; it has %s", c.ltl,
			spell.DidYouMean(c.ltl, names, ""), strings.Join(names, ", "))
	}
	return ps, nil
}

// engineProperty returns a property as the engines take it.
func engineProperty(p *frontend.Property) engine.Property {
	q := engine.Property{Name: p.Name, Formula: p.Formula, Pos: p.Pos, Text: p.Text, Kind: p.Kind,
		Modality: p.Modality, System: p.System}
	for _, x := range p.Predicates {
		q.Predicates = append(q.Predicates, engine.Predicate(x))
	}
	return q
}

// propertyNames returns the names of the properties that -ltl all checks.
func propertyNames(m *frontend.Program) []string {
	var names []string
	for _, p := range m.Properties {
		if !p.Asked {
			names = append(names, p.Name)
		}
	}
	return names
}

// unchecked says which temporal properties a search leaves unchecked; "" if
// the model has none.
func unchecked(m *frontend.Program, file string) string {
	names := propertyNames(m)
	if len(names) == 0 {
		return ""
	}
	return named(fmt.Sprintf("ltl %s (cpor run -ltl all %s)", strings.Join(names, ", "), file))
}
