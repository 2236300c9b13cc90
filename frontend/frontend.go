// Package frontend loads the model files that users name on the command line. The ending of the
// file name selects the language. The result is a system.System, so engines do not depend on the
// language.
//
// A front end is a package that calls [Register] when it is initialized. The command only has to
// import it.
package frontend

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"cpor/frontend/source"
	"cpor/ltl"
	"cpor/system"
	"cpor/trace"
)

// Program is a loaded file.
type Program struct {
	System system.System
	// Semantics names the way in which statements became steps, if the language has several; it is
	// empty if it has one.
	Semantics string
	// Params are the constants that -D can set, with their values: int64 or bool.
	Params map[string]any
	// Properties are the temporal properties, in the order of the file. The
	// atoms of their formulas are the names of the system's propositions
	// ([system.Temporal]).
	Properties []Property
	// Untimed, if not empty, says why no property may be checked with the flags that were
	// given to the front end.
	Untimed string
	// Edges counts transitions as other tools of the language do: without the self-loops of threads
	// that cannot move, and with the initial state as one.
	Edges bool
	// Coverage, if not nil, tells what explorations of System have executed so far.
	Coverage func() *Coverage
	// CoverageSoFar is Coverage for an exploration that is still running. It returns what had been
	// executed at the previous call, without Never. It is nil if Coverage is.
	CoverageSoFar func() *Coverage
	// WriteTrail writes an execution in the format that the language's own tool replays; nil if
	// there is none. The error says why the execution cannot be written.
	WriteTrail func(w io.Writer, x *Execution) error
	// Replay, if not nil, is an execution that a flag of the front end has asked
	// for. It is shown, and nothing is searched.
	Replay *Execution
	// Warnings, if not empty, is what the file may not mean, with the places.
	Warnings string
	// Freely, if not nil, returns how a shared variable, by the name of one of its locations, would
	// be declared so that threads may use it without locks; empty if there is no such declaration.
	Freely func(location string) string
	// Sources are the files as they were loaded: the model's own, and those that it includes.
	Sources []*source.File
}

// Execution is an execution of a program, finite or with a loop.
type Execution struct {
	*trace.Trace
	// System is the system of the trace: the program's, or that of a property.
	System system.System
	// Loop is the index of the first step that is repeated forever; the number of steps if the last
	// state is repeated; -1 if the execution is finite.
	Loop int
	// Properties are those that the execution may violate, the likeliest first, if the trace itself
	// claims nothing. They all refer to System.
	Properties []Property
	// Open, if not empty, says why the execution does not show what it claimed.
	Open string
	// Note, if not empty, is what else has to be said of it.
	Note string
}

// Source returns the program's file of that name, or nil.
func (p *Program) Source(name string) *source.File {
	for _, f := range p.Sources {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Coverage says what was executed of a program, and what was not.
type Coverage struct {
	// Never lists what was not executed. It omits what is inside something unexecuted, unless it is
	// a property.
	Never []Never
	// Counts say how often each place was executed, in no order; a place can have
	// several. Means completes "a count says how often".
	Counts []Count
	Means  string
}

// Never is something that was not executed.
type Never struct {
	Of   string // what it belongs to: proctype A, thread P
	Pos  system.Pos
	Text string // of the source
	What string // what never happened to it: "is never called"; empty if that is plain
	// Property: it is an assertion or a part of an invariant, which says nothing, or
	// makes a property say nothing, as a label does.
	Property bool
	Label    bool // it is a label that a property names
	// Waiting: that is known only of a search that evaluates properties wherever they
	// can be evaluated, and not only where something moves ([engine.Waits]).
	Waiting bool
}

// Count is how often a place was executed.
type Count struct {
	Pos system.Pos
	N   uint64
}

// Property is a temporal property of a program.
type Property struct {
	Name    string
	Pos     system.Pos
	Text    string // the formula as written in the file
	Formula ltl.Formula
	// Modality says what the formula has to do with the executions.
	Modality ltl.Modality
	// Kind is what people call it: ltl if empty.
	Kind string
	// System, if not nil, is the system that it is about, instead of the program's.
	System system.System
	// Refused, if not nil, is why it cannot be checked.
	Refused error
	// Asked properties are checked only if the user names them.
	Asked bool
	// Predicates are the state predicates of the formula that may fail to be
	// evaluated: an index out of bounds, a nil pointer.
	Predicates []Predicate
}

// Predicate is a part of a formula without temporal operators, and not inside of a
// larger one, that may fail to be evaluated.
type Predicate struct {
	Pos     system.Pos
	Prop    string   // the proposition of the system that is the whole predicate
	Atoms   []string // the propositions of the formula that it is made of
	Initial bool     // it is under no temporal operator
}

// Options are what a user sets besides the file.
type Options struct {
	Params map[string]string // -D NAME=VALUE
	// Flags are the values of the front end's own flags that were given, by name;
	// true for one that is on or off.
	Flags map[string]string
	// Verdict: the program is searched for violations with a reduction, so nobody compares its
	// states with those of another tool. A front end may join steps then.
	Verdict bool
	// Files, if not nil, are the only files there are, by the names under which they
	// are asked for: nothing is read from the disk.
	Files map[string]string
}

// ReadFile reads a file that a program is made of.
func (o *Options) ReadFile(name string) (*source.File, error) {
	if o.Files == nil {
		return source.Read(name)
	}
	text, ok := o.Files[name]
	if !ok {
		return nil, fmt.Errorf("%s: no such file", name)
	}
	return source.New(name, text), nil
}

// Flag is an option of a front end.
type Flag struct {
	Name  string
	Bool  bool   // it takes no value
	Many  bool   // it may be repeated: the values are joined by line ends
	Usage string // with the name of the value in back quotes
	// Check validates a value; nil accepts everything.
	Check func(value string) error
}

// FormulaFlag is the flag of the front ends whose languages have ltl properties: a formula that
// becomes the property FormulaName.
var FormulaFlag = Flag{Name: "f", Usage: "check this `formula` as if it were in the file: -f '[] " +
	"(x < 3)' is ltl " + FormulaName + " { [] (x < 3) } with -ltl " + FormulaName,
	Check: func(s string) error {
		if strings.TrimSpace(s) == "" {
			return errors.New("want a formula, such as '[] (x < 3)'")
		}
		return nil
	}}

// FormulaName is the name of the property that FormulaFlag makes.
const FormulaName = "formula"

// Formula returns the formula of FormulaFlag as a file; nil if it was not given.
func (o *Options) Formula() *source.File {
	text, ok := o.Flags[FormulaFlag.Name]
	if !ok {
		return nil
	}
	return source.New("-"+FormulaFlag.Name, "ltl "+FormulaName+" {\n"+text+"\n}\n")
}

// FrontEnd reads the files of one language.
type FrontEnd struct {
	Name       string   // of the language
	Extensions []string // of its files' names, with the dot
	// Default: it takes the files whose names end in nothing that is known.
	Default bool
	// Flags are the front end's own options.
	Flags []Flag
	// Load compiles a file. Its errors are for people, with the places in the
	// file.
	Load func(f *source.File, o Options) (*Program, error)
	// Format returns the text of a file in the layout of its language; nil if nothing
	// formats it. Its errors are those of Load that are about syntax.
	Format func(f *source.File) (string, error)
}

var frontEnds []FrontEnd

// Register enters a front end. It panics if an extension is taken, which any
// test of the command finds.
func Register(f FrontEnd) {
	for _, x := range f.Extensions {
		if old := byExtension(x); old != nil {
			panic(fmt.Sprintf("frontend: both %s and %s want files that end in %s", old.Name,
				f.Name, x))
		}
	}
	frontEnds = append(frontEnds, f)
}

// FrontEnds returns the front ends that are registered.
func FrontEnds() []FrontEnd { return frontEnds }

func byExtension(ext string) *FrontEnd {
	for i := range frontEnds {
		for _, x := range frontEnds[i].Extensions {
			if strings.EqualFold(x, ext) {
				return &frontEnds[i]
			}
		}
	}
	return nil
}

// of returns the front end for a file, or nil.
func of(path string) *FrontEnd {
	if f := byExtension(filepath.Ext(path)); f != nil {
		return f
	}
	for i := range frontEnds {
		if frontEnds[i].Default {
			return &frontEnds[i]
		}
	}
	return nil
}

var provided = map[string]FrontEnd{}

// Provide enters a program that is a part of the running command instead of a file: [Load] finds
// it by its name, and calls load. It panics if there is one of that name.
func Provide(name string, load func(o Options) (*Program, error)) {
	if _, ok := provided[name]; ok {
		panic(fmt.Sprintf("frontend: two programs are called %s", name))
	}
	provided[name] = FrontEnd{Load: func(_ *source.File, o Options) (*Program, error) {
		return load(o)
	}}
}

// Load reads and compiles a file with the front end that its name asks for.
func Load(path string, o Options) (*Program, error) {
	if fe, ok := provided[path]; ok {
		return fe.load(source.New(path, ""), o)
	}
	f, err := o.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return compile(f, o)
}

// Read is Load for a text from r, such as standard input. Messages contain name, and its ending
// selects the language.
func Read(name string, r io.Reader, o Options) (*Program, error) {
	f, err := source.ReadFrom(name, r)
	if err != nil {
		return nil, err
	}
	return compile(f, o)
}

// Formatted returns the text of a file in the layout of its language.
func Formatted(f *source.File) (string, error) {
	fe := of(f.Name)
	if fe == nil || fe.Format == nil {
		var known []string
		for _, x := range frontEnds {
			if x.Format != nil {
				known = append(known, x.Extensions...)
			}
		}
		return "", fmt.Errorf("%s: cannot format such files, only those ending in %s", f.Name,
			strings.Join(known, ", "))
	}
	return fe.Format(f)
}

// IsFormattable reports whether a file has the ending of a language that is formatted.
func IsFormattable(path string) bool {
	fe := byExtension(filepath.Ext(path))
	return fe != nil && fe.Format != nil
}

func compile(f *source.File, o Options) (*Program, error) {
	fe := of(f.Name)
	switch {
	case len(frontEnds) == 0:
		return nil, fmt.Errorf("%s: this program was built without the languages of models", f.Name)
	case fe == nil:
		return nil, fmt.Errorf("%s: unknown file type", f.Name)
	}
	return fe.load(f, o)
}

// load compiles a file, if the front end has the flags that were given.
func (fe *FrontEnd) load(f *source.File, o Options) (*Program, error) {
	for _, name := range slices.Sorted(maps.Keys(o.Flags)) {
		if !slices.ContainsFunc(fe.Flags, func(g Flag) bool { return g.Name == name }) {
			var of []string
			for _, x := range frontEnds {
				if slices.ContainsFunc(x.Flags, func(g Flag) bool { return g.Name == name }) {
					of = append(of, x.Name)
				}
			}
			return nil, fmt.Errorf("-%s is an option for files in %s, and %s is not one", name,
				strings.Join(of, " and "), f.Name)
		}
	}
	return fe.Load(f, o)
}
