package main

import (
	"cpor/detect/detectcmd"
)

// elsewhere are the commands that live in packages of their own. They parse
// their flags themselves, -h included.
var elsewhere = []*command{
	{
		name: "detect", summary: "what could have happened in a recorded run of a distributed system",
		run: func(e *env, args []string) int {
			return detectcmd.Detect(e.ctx, args, e.stdin, e.stdout, e.stderr)
		},
	},
}
