// Package cliflag reads the command line of all of cpor's commands: flags before
// and after the other arguments, sizes and parameters, and mistakes in words that
// help. The parsing is that of the standard library. Libraries such as cobra want
// two dashes before a name and a tree of commands of their own, and replace the
// messages by theirs.
package cliflag

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"cpor/internal/human"
	"cpor/internal/spell"
)

// Set is a set of flags that knows in which order and under which headings the
// help shows them. The standard library parses; it is called again after each
// argument that is not a flag, so that flags may be before and after the file.
type Set struct {
	*flag.FlagSet
	groups  []flagGroup
	renamed map[string]string // former names of flags
}

type flagGroup struct {
	title string
	flags []string
}

// New returns an empty set for a command.
func New(command string) *Set {
	f := &Set{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError)}
	f.SetOutput(io.Discard) // the messages are ours
	f.Usage = func() {}
	return f
}

// Group says under which heading the named flags are in the help.
func (f *Set) Group(title string, flags ...string) {
	f.groups = append(f.groups, flagGroup{title, flags})
}

// Renamed says that the flag name used to be called former, which still works. The help does not
// show it.
func (f *Set) Renamed(former, name string) {
	if f.renamed == nil {
		f.renamed = map[string]string{}
	}
	f.renamed[former] = name
}

// Current returns the arguments with the current names of renamed flags.
func (f *Set) Current(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == "--" {
			break
		}
		name, value, whole := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if now := f.renamed[name]; now != "" && strings.HasPrefix(a, "-") {
			args[i] = "-" + now
			if whole {
				args[i] += "=" + value
			}
		}
	}
	return args
}

// Parse parses the arguments and returns those that are not flags: all that
// stand behind "--" are not. The error is flag.ErrHelp if help was asked for,
// and otherwise a mistake in words.
func (f *Set) Parse(args []string) ([]string, error) {
	args = f.definitions(f.Current(args))
	var files []string
	for {
		if err := f.FlagSet.Parse(args); err != nil {
			return nil, f.explain(err)
		}
		rest := f.Args()
		if len(rest) == 0 {
			return files, nil
		}
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			return append(files, rest...), nil
		}
		files = append(files, rest[0])
		args = rest[1:]
	}
}

// definitions takes -DN=3 apart, as compilers write it, into -D and N=3; so -UN and -Idir.
func (f *Set) definitions(args []string) []string {
	var out []string
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if len(a) > 2 && a[0] == '-' && a[2] != '=' && strings.Contains("DUI", a[1:2]) &&
			f.Lookup(a[1:2]) != nil {
			if name, _, _ := strings.Cut(a[1:], "="); f.Lookup(name) == nil {
				out = append(out, a[:2], a[2:])
				continue
			}
		}
		out = append(out, a)
	}
	return out
}

// explain turns an error of the standard library into words that help.
func (f *Set) explain(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		name = strings.TrimPrefix(name, "-")
		return fmt.Errorf("unknown flag -%s%s", name, spell.DidYouMean(name, f.names(), "-"))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return fmt.Errorf("the flag -%s needs a value", name)
	}
	// invalid value "x" for flag -name: why
	if rest, ok := strings.CutPrefix(text, "invalid value "); ok {
		if value, rest, ok := strings.Cut(rest, " for flag -"); ok {
			if name, why, ok := strings.Cut(rest, ": "); ok {
				return fmt.Errorf("-%s %s: %s", name, unquoted(value), f.why(name, why))
			}
		}
	}
	if rest, ok := strings.CutPrefix(text, "invalid boolean value "); ok {
		if value, rest, ok := strings.Cut(rest, " for -"); ok {
			name, _, _ := strings.Cut(rest, ":")
			return fmt.Errorf("-%s=%s: want -%s=true or -%s=false", name, unquoted(value), name,
				name)
		}
	}
	return err
}

// unquoted removes the quotes from a value that is readable without them.
func unquoted(v string) string {
	if s := strings.Trim(v, `"`); s != "" && !strings.ContainsAny(v, `\ `) {
		return s
	}
	return v
}

// why says what values a flag takes when the library only says that it could
// not parse one.
func (f *Set) why(name, why string) string {
	if why != "parse error" && why != "value out of range" {
		return why
	}
	switch f.kind(name) {
	case "duration":
		return "want a duration such as 90s, 10m or 1h30m"
	case "int", "uint":
		if why == "value out of range" {
			return why
		}
		return "want a number"
	}
	return why
}

func (f *Set) kind(name string) string {
	fl := f.Lookup(name)
	if fl == nil {
		return ""
	}
	// UnquoteUsage names the type of the value unless the usage does.
	bare := *fl
	bare.Usage = ""
	kind, _ := flag.UnquoteUsage(&bare)
	return kind
}

func (f *Set) names() []string {
	var names []string
	f.VisitAll(func(fl *flag.Flag) { names = append(names, fl.Name) })
	return names
}

// Given tells whether the user gave the flag.
func (f *Set) Given(name string) bool {
	found := false
	f.Visit(func(fl *flag.Flag) { found = found || fl.Name == name })
	return found
}

// Describe prints the flags under their headings.
func (f *Set) Describe(w io.Writer) {
	const column = 20
	for _, g := range f.groups {
		fmt.Fprintf(w, "\n%s\n", g.title)
		for _, name := range g.flags {
			fl := f.Lookup(name)
			value, usage := flag.UnquoteUsage(fl)
			head := "  -" + name
			if value != "" {
				head += " " + value
			}
			if len(head) > column-2 {
				head += "\n" + strings.Repeat(" ", column)
			} else {
				head += strings.Repeat(" ", column-len(head))
			}
			fmt.Fprintf(w, "%s%s\n", head, human.Wrap(usage, column))
		}
	}
}

// Defaults prints all flags in the order of the alphabet with their defaults, as
// the standard library does: for commands whose flags have no headings.
func (f *Set) Defaults(w io.Writer) {
	f.SetOutput(w)
	f.PrintDefaults()
	f.SetOutput(io.Discard)
}
