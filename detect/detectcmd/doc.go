// Package detectcmd is the command line of package detect: what `cpor detect`
// and `cpor monitor` do between their arguments and their exit codes. It has no algorithm of its
// own. It is the only package of detect that the command imports.
//
// Exit codes: 0 the predicate is not possible, or it is definite; 1 it is
// possible, or not definite; 2 a mistake in the command, the predicate or the
// log; 3 incomplete: a limit, a time-out or an interruption before the answer
// was known.
package detectcmd

import (
	"cpor/internal/cliflag"
	"errors"
	"flag"
	"fmt"
	"io"
)

// The exit codes.
const (
	exitFine       = 0
	exitAlarm      = 1
	exitMistake    = 2
	exitIncomplete = 3
)

// flagSet is the flags of a command, and where it complains.
type flagSet struct {
	*cliflag.Set
	name   string
	stderr io.Writer
}

func newFlagSet(name string, stderr io.Writer) *flagSet {
	return &flagSet{cliflag.New(name), name, stderr}
}

// parse returns the arguments that are not flags. Unless ok, the command has to
// return the code: help was printed, or a mistake. The help is usage, the flags, and codes.
func (f *flagSet) parse(args []string, usage, codes string, stdout io.Writer) (rest []string,
	code int, ok bool) {
	rest, err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		f.Describe(stdout)
		fmt.Fprint(stdout, codes)
		return nil, exitFine, false
	case err != nil:
		return nil, f.mistake("%v", err), false
	}
	return rest, 0, true
}

func (f *flagSet) mistake(format string, args ...any) int {
	fmt.Fprintf(f.stderr, "cpor %s: %s\n", f.name, fmt.Sprintf(format, args...))
	return exitMistake
}
