// Package command is the command cpor: its sub-commands, their flags, what they print and their
// exit codes. Other programs can be the same command for models of their own (package model/cli).
package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"cpor/cmd/cpor/interrupt"
	"cpor/engine/memory"
	"cpor/internal/cliflag"
	"cpor/internal/terminal"
	"cpor/internal/version"
)

// The exit codes of all commands.
const (
	ExitPass       = 0
	ExitViolation  = 1
	ExitMistake    = 2 // the user's; also an internal error
	ExitIncomplete = 3
)

// env is what a command has of the world.
type env struct {
	ctx    context.Context // ends at the first interruption
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// Main executes a command line without the name of the program, and returns the exit code.
func Main(args []string) int {
	memory.Start()
	return Run(interrupt.Context, args, os.Stdin, terminal.Output(os.Stdout), os.Stderr)
}

// Run is [Main] with other streams, and with a context whose end interrupts the command. A panic
// on the way is shown as what it is, a fault of the tool.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	e := &env{ctx: ctx, stdin: stdin, stdout: stdout, stderr: stderr}
	if len(args) > 0 && args[0] == "help" || slices.ContainsFunc(args, cliflag.IsHelp) {
		e.stdout = &naming{stdout}
	}
	defer func() {
		if v := recover(); v != nil {
			e.internalError(fmt.Sprintf("%v\n%s", v, debug.Stack()))
			code = ExitMistake
		}
	}()
	return dispatch(e, args)
}

// internalError reports a fault of the tool itself.
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
	fmt.Fprintf(e.stderr, "%s%s: %s\n", Program, command,
		printable(named(fmt.Sprintf(format, args...))))
	return ExitMistake
}

// Program is how users call the program: another name than cpor if it has models of its own
// (package model/cli), because only that program can resume their searches, for example.
var Program = "cpor"

// named returns a text in which command lines begin with the name of the program.
func named(text string) string {
	if Program == "cpor" {
		return text
	}
	return strings.NewReplacer("\"cpor ", "\""+Program+" ", "usage: cpor ", "usage: "+Program+" ",
		"(cpor ", "("+Program+" ").Replace(text)
}

// naming writes what is named.
type naming struct{ w io.Writer }

func (n *naming) Write(b []byte) (int, error) {
	if _, err := io.WriteString(n.w, named(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
