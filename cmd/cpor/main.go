// Command cpor explores every interleaving of a concurrent system that
// matters, on all cores, and says truthfully what it covered.
//
//	cpor run [flags] FILE.model      search a model
//	cpor resume [flags] DIR          resume a search from its checkpoint
//	cpor check [flags] FILE.model    look for mistakes in a model, run nothing
//	cpor bench [TABLE...]            the papers' tables, measured
//	cpor help [COMMAND]
//	cpor version
//
// The command has no algorithm of its own: it reads flags, hands the system that a
// front end makes of a file (package frontend) to one of the engines (package
// engine), and prints what that found out. To read it, begin with the table of the
// commands in commands.go; run.go is the way of `cpor run` from the flags to the
// exit code; modes.go asks the engines which flags mean something to them. A
// further engine, reduction or front end registers itself, and is named in
// engine/all or languages.go.
//
// Flags are Go's, parsed by the standard library, and may be before or after
// the file.
//
// # Exit codes
//
//	0  no violation, and the search was exhaustive
//	1  a violation
//	2  a mistake in the command, the file or the model; or the tool's own fault
//	3  incomplete: a limit, a time-out, an interruption, an inexact store
//
// A search that did not cover everything is never reported as a pass.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"cpor/cmd/cpor/interrupt"
	"cpor/engine/memory"
	"cpor/internal/terminal"
	"cpor/internal/version"
)

// The exit codes.
const (
	exitPass       = 0
	exitViolation  = 1
	exitMistake    = 2 // the user's; also an internal error
	exitIncomplete = 3
)

// env is what a command has of the world.
type env struct {
	ctx    context.Context // ends at the first interruption
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

func main() {
	memory.Start()
	os.Exit(runMain(&env{ctx: interrupt.Context, stdin: os.Stdin,
		stdout: terminal.Output(os.Stdout), stderr: os.Stderr}, os.Args[1:]))
}

// runMain runs the command line and returns the exit code. A panic on the way
// is shown as what it is, a fault of the tool.
func runMain(e *env, args []string) (code int) {
	defer func() {
		if v := recover(); v != nil {
			e.internalError(fmt.Sprintf("%v\n%s", v, debug.Stack()))
			code = exitMistake
		}
	}()
	return dispatch(e, args)
}

// internalError tells of a fault of the tool itself.
func (e *env) internalError(what string) {
	fmt.Fprintf(e.stderr, `cpor: internal error: %s

This is a bug in cpor %s, not in your model, so there is no verdict (exit code 2).
Please report it with the model, this command line and the text above:
	cpor %s
`, strings.TrimRight(what, "\n"), version.String(), commandLine(os.Args[1:]))
}

// commandLine returns the arguments as one would type them.
func commandLine(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = a
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$*?[]{}()<>|&;`!#~") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// mistake tells the user about a mistake and returns the exit code for it.
func (e *env) mistake(command, format string, args ...any) int {
	if command != "" {
		command = " " + command
	}
	fmt.Fprintf(e.stderr, "cpor%s: %s\n", command, printable(fmt.Sprintf(format, args...)))
	return exitMistake
}
