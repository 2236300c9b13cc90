package main

import (
	"cpor/bench"
	"cpor/detect/detectcmd"
	"cpor/frontend/gosrc/testcmd"
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
		run: func(e *env, args []string) int {
			// The measurements of package detect have flags of their own.
			if len(args) > 0 && args[0] == "detect" {
				return detectcmd.Bench(e.ctx, args[1:], e.stdout, e.stderr)
			}
			return bench.Main(e.ctx, args, e.stdout, e.stderr)
		},
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
