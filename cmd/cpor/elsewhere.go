package main

import (
	"os"
	"os/exec"
	"syscall"

	"cpor/internal/sibling"
)

// elsewhere are the commands that live in packages of their own. They parse
// their flags themselves, -h included.
var elsewhere = []*command{
	{
		name: "bench", summary: "run the papers' benchmarks, and compare with other checkers",
		run: benchCommand,
	},
}

// benchCommand is `cpor bench`: the program cpor-bench, in which the measurements and the
// libraries that draw their plots are.
func benchCommand(e *env, args []string) int {
	program, err := sibling.Path("cpor-bench")
	if err != nil {
		return e.mistake("bench", "%v", err)
	}
	if e.stdout == os.Stdout {
		// The program takes the place of this one. Where the system cannot do that, this returns.
		syscall.Exec(program, append([]string{program}, args...), os.Environ())
	}
	c := exec.Command(program, args...)
	c.Stdin, c.Stdout, c.Stderr = e.stdin, e.stdout, e.stderr
	if err := c.Run(); c.ProcessState == nil {
		return e.mistake("bench", "%v", err)
	}
	return c.ProcessState.ExitCode()
}
