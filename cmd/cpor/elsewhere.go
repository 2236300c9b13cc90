package main

import (
	"os"
	"os/exec"
	"syscall"

	"cpor/detect/detectcmd"
	"cpor/frontend/gosrc/testcmd"
	"cpor/internal/sibling"
)

// elsewhere are the commands that live in packages of their own. They parse
// their flags themselves, -h included.
var elsewhere = []*command{
	{
		name: "test", summary: "explore Go tests under every schedule",
		run: func(e *env, args []string) int {
			return testcmd.Test(e.ctx, args, e.stdout, e.stderr)
		},
	},
	{
		name: "bench", summary: "run the papers' benchmarks, and compare with other checkers",
		run: benchCommand,
	},
	{
		name: "detect", summary: "report what could have happened in a recorded run",
		run: func(e *env, args []string) int {
			return detectcmd.Detect(e.ctx, args, e.stdin, e.stdout, e.stderr)
		},
	},
	{
		name: "monitor", summary: "report the same while the system runs",
		run: func(e *env, args []string) int {
			return detectcmd.Monitor(e.ctx, args, e.stdin, e.stdout, e.stderr)
		},
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
