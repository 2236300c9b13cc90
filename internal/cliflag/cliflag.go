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

	"cpor/internal/layout"
	"cpor/internal/spell"
)

// Set is a set of flags that knows in which order and under which headings the
// help shows them. The standard library parses; it is called again after each
// argument that is not a flag, so that flags may be before and after the file.
type Set struct {
	*flag.FlagSet
	groups  []flagGroup
	common  []string          // what the short help shows
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

// Common names the flags that most people need. They are what DescribeCommon shows, in this order.
func (f *Set) Common(flags ...string) { f.common = flags }

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

// Parse parses the arguments and returns those that are not flags: everything after "--" is not.
// The error is flag.ErrHelp if help was requested, and otherwise a mistake in words.
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

// Given reports whether the user gave the flag.
func (f *Set) Given(name string) bool {
	found := false
	f.Visit(func(fl *flag.Flag) { found = found || fl.Name == name })
	return found
}

// WantsAll reports whether arguments that ask for help ask for all of it: "-h all", as in "cpor
// run -h all", for which "cpor help run all" stands.
func WantsAll(args []string) bool {
	i := slices.IndexFunc(args, IsHelp)
	return i >= 0 && slices.Equal(args[i+1:], []string{"all"})
}

// IsHelp reports whether an argument asks for help.
func IsHelp(arg string) bool { return slices.Contains([]string{"-h", "-help", "--help"}, arg) }

// DescribeCommon prints the common flags, and how to see the others.
func (f *Set) DescribeCommon(w io.Writer) {
	fmt.Fprintln(w, "\nCommon flags:")
	for _, name := range f.common {
		f.describe(w, name)
	}
	fmt.Fprintf(w, "\n%q describes all %d flags.\n", "cpor help "+f.Name()+" all", len(f.names()))
}

// Describe prints all flags: under their headings or, if there are none, in the order of the
// alphabet.
func (f *Set) Describe(w io.Writer) {
	groups := f.groups
	if groups == nil {
		groups = []flagGroup{{"Flags:", f.names()}}
	}
	for _, g := range groups {
		fmt.Fprintf(w, "\n%s\n", g.title)
		for _, name := range g.flags {
			f.describe(w, name)
		}
	}
}

// describe prints one flag, with its default unless that is nothing or the text has it.
func (f *Set) describe(w io.Writer, name string) {
	const column = 20
	fl := f.Lookup(name)
	value, usage := flag.UnquoteUsage(fl)
	if nothing := []string{"", "0", "0s", "0 B", "false"}; f.groups == nil &&
		!slices.Contains(nothing, fl.DefValue) && !strings.Contains(usage, "(default") {
		usage += " (default " + fl.DefValue + ")"
	}
	head := "  -" + name
	if value != "" {
		head += " " + value
	}
	if len(head) > column-2 {
		head += "\n" + strings.Repeat(" ", column)
	} else {
		head += strings.Repeat(" ", column-len(head))
	}
	fmt.Fprintf(w, "%s%s\n", head, layout.Wrap(usage, column))
}
