// Package detectcmd is the command line of package detect: what `cpor detect`,
// `cpor monitor` and `cpor bench detect` do between their arguments and their
// exit codes. It has no algorithm of its own.
//
// Exit codes: 0 the predicate is not possible, or it is definite; 1 it is
// possible, or not definite; 2 a mistake in the command, the predicate or the
// log; 3 incomplete: a limit, a time-out or an interruption before the answer
// was known.
package detectcmd

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"cpor/internal/spell"
)

// The exit codes.
const (
	exitFine       = 0
	exitAlarm      = 1
	exitMistake    = 2
	exitIncomplete = 3
)

// flagSet parses Go's flags before and after the other arguments.
type flagSet struct {
	*flag.FlagSet
	name   string
	stderr io.Writer
}

func newFlagSet(name string, stderr io.Writer) *flagSet {
	f := &flagSet{flag.NewFlagSet(name, flag.ContinueOnError), name, stderr}
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// parse returns the arguments that are no flags. Unless ok, the command has to
// return the code: help was printed, or a mistake.
func (f *flagSet) parse(args []string, usage string, stdout io.Writer) (rest []string, code int, ok bool) {
	for {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usage)
			f.SetOutput(stdout)
			f.PrintDefaults()
			return nil, exitFine, false
		}
		if err != nil {
			msg := err.Error()
			if name, unknown := strings.CutPrefix(msg, "flag provided but not defined: -"); unknown {
				msg = "unknown flag -" + name + f.suggest(name)
			}
			return nil, f.mistake("%s", msg), false
		}
		left := f.Args()
		if len(left) == 0 {
			return rest, 0, true
		}
		if n := len(args) - len(left); n > 0 && args[n-1] == "--" {
			return append(rest, left...), 0, true
		}
		rest = append(rest, left[0])
		args = left[1:]
	}
}

func (f *flagSet) suggest(name string) string {
	var names []string
	f.VisitAll(func(fl *flag.Flag) { names = append(names, fl.Name) })
	return spell.DidYouMean(name, names, "-")
}

func (f *flagSet) mistake(format string, args ...any) int {
	fmt.Fprintf(f.stderr, "cpor %s: %s\n", f.name, fmt.Sprintf(format, args...))
	return exitMistake
}

// bytesFlag is a size such as 512MiB.
type bytesFlag int64

func (b *bytesFlag) String() string {
	if *b == 0 {
		return ""
	}
	return humanize.IBytes(uint64(*b))
}

func (b *bytesFlag) Set(s string) error {
	n, err := humanize.ParseBytes(s)
	if err != nil || n > 1<<62 {
		return fmt.Errorf("want a size such as 512MiB")
	}
	*b = bytesFlag(n)
	return nil
}
