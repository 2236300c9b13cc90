//go:build !models && !gotests

package command

import "cpor/detect/detectcmd"

// recorded are the commands for recorded runs.
var recorded = []*command{
	{
		name: "detect", summary: "report what could have happened in a recorded run",
		run: func(e *env, args []string) int {
			return detectcmd.Detect(e.ctx, args, e.stdin, e.stdout, e.stderr)
		},
	},
	{
		name: "monitor", summary: "report the same while the system runs",
		run: func(e *env, args []string) int {
			return detectcmd.Monitor(e.ctx, &followed{e: e}, args, e.stdin, e.stdout, e.stderr)
		},
	},
	{
		name: "conform", summary: "report whether a recorded run is one of a model",
		run: conformCommand,
	},
}
