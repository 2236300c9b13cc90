package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"cpor/internal/cliflag"
	"cpor/internal/spell"
	"cpor/internal/version"
)

// command is a sub-command.
type command struct {
	name    string
	summary string // one line
	// run runs the command. With -h it prints its help, and with -h all the help on every flag.
	run func(e *env, args []string) int
}

// commands returns the sub-commands in the order of the help. It is a function
// because help is one of them and lists them all.
func commands() []*command {
	return slices.Concat([]*command{
		{name: "run", summary: "search a model for violations", run: runCommand},
		{name: "resume", summary: "resume a search from its checkpoint", run: resumeCommand},
		{name: "check", summary: "report mistakes in a model without searching it",
			run: checkCommand},
		{name: "fmt", summary: "format models as gofmt does Go programs", run: fmtCommand},
		{name: "simulate", summary: "run one execution, at random or step by step",
			run: simulateCommand},
	}, pages, goTests, elsewhere, recorded, []*command{
		{name: "completion", summary: "print a shell completion script", run: completionCommand},
		{name: "man", summary: "print the manual page", run: manCommand},
		{name: "help", summary: "print help", run: helpCommand},
		{name: "version", summary: "print the version of cpor", run: versionCommand},
	})
}

func dispatch(e *env, args []string) int {
	if len(args) == 0 {
		overview(e.stderr)
		return ExitMistake
	}
	name, rest := args[0], args[1:]
	switch {
	case cliflag.IsHelp(name):
		overview(e.stdout)
		return ExitPass
	case name == "-version" || name == "--version":
		name = "version"
	}
	if c := lookup(name); c != nil {
		return c.run(e, rest)
	}
	if strings.HasSuffix(name, ".model") {
		if _, err := os.Stat(name); err == nil {
			return e.mistake("", "%s is a file and not a command; did you mean \"cpor run %s\"?",
				name, name)
		}
	}
	if strings.HasPrefix(name, "-") {
		return e.mistake("", "the command comes first: cpor run %s; \"cpor help\" lists the "+
			"commands", commandLine(args))
	}
	return e.mistake("", "unknown command %q%s; \"cpor help\" lists the commands", name,
		spell.DidYouMean(name, Names(), ""))
}

func lookup(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}

// Names returns the names of the sub-commands in the order of the help.
func Names() []string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
}

func overview(w io.Writer) {
	fmt.Fprint(w, `cpor finds concurrency bugs by exploring every interleaving that matters, on all
cores, or proves that there are none within the bounds you set.

usage: cpor COMMAND [flags] [arguments]

`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
	}
	fmt.Fprintln(w, `
"cpor help COMMAND" describes a command, and "cpor help COMMAND all" every flag
of it. To begin, in a Go package with tests, or with a model:

  cpor test
  cpor run FILE.model

Exit codes: 0 no violation and everything covered, 1 a violation, 2 a mistake in
the command, the file or the model, 3 incomplete (a limit or an interruption).`)
}

func helpCommand(e *env, args []string) int {
	if len(args) == 0 || cliflag.IsHelp(args[0]) || slices.Equal(args, []string{"help"}) {
		overview(e.stdout)
		return ExitPass
	}
	if len(args) > 2 || len(args) == 2 && strings.TrimPrefix(args[1], "-") != "all" {
		return e.mistake("help", "help takes one command, and perhaps the word all, as in \"cpor "+
			"help run all\"")
	}
	c := lookup(args[0])
	if c == nil {
		return e.mistake("help", "unknown command %q%s", args[0],
			spell.DidYouMean(args[0], Names(), ""))
	}
	if len(args) == 2 {
		return c.run(e, []string{"-h", "all"})
	}
	return c.run(e, []string{"-h"})
}

func versionCommand(e *env, args []string) int {
	if len(args) > 0 {
		if cliflag.IsHelp(args[0]) {
			fmt.Fprintln(e.stdout, "usage: cpor version\n\nPrints the version of cpor, its "+
				"commit, the version of Go, and the platform.")
			return ExitPass
		}
		return e.mistake("version", "version takes no arguments")
	}
	fmt.Fprintf(e.stdout, "cpor %s\n\n", version.String())
	commit, date := version.Commit()
	if date != "" {
		commit += ", " + date
	}
	fmt.Fprintf(e.stdout, "  commit    %s\n", cmp.Or(commit, "not recorded"))
	fmt.Fprintf(e.stdout, "  go        %s\n", runtime.Version())
	fmt.Fprintf(e.stdout, "  platform  %s/%s, %d CPUs\n", runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU())
	return ExitPass
}
