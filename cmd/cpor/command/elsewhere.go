package command

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"cpor/internal/sibling"
)

// elsewhere are the commands that are programs of their own, with libraries that cpor need not
// carry: cpor bench draws plots, cpor mcp has a protocol. They parse their flags themselves, -h
// included.
var elsewhere = []*command{
	{
		name: "bench", summary: "run the papers' benchmarks, and compare with other checkers",
		run: func(e *env, args []string) int { return e.sibling("bench", args) },
	},
	{
		name: "mcp", summary: "serve language models, which check models and Go tests with it",
		run: func(e *env, args []string) int { return e.sibling("mcp", args) },
	},
}

// sibling runs the program of a command.
func (e *env) sibling(name string, args []string) int {
	program, doubt, err := sibling.Path("cpor-" + name)
	if err != nil {
		return e.mistake(name, "%v", err)
	}
	if doubt != "" {
		fmt.Fprintf(e.stderr, "%s %s: %s\n", Program, name, doubt)
	}
	if e.stdout == os.Stdout {
		// The program takes the place of this one. Where the system cannot do that, this returns.
		syscall.Exec(program, append([]string{program}, args...), os.Environ())
	}
	c := exec.Command(program, args...)
	c.Stdin, c.Stdout, c.Stderr = e.stdin, e.stdout, e.stderr
	if err := c.Run(); c.ProcessState == nil {
		return e.mistake(name, "%v", err)
	}
	return c.ProcessState.ExitCode()
}
