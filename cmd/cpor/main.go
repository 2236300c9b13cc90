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
// engine), and prints what that found out. Its code is in package command, so that
// other programs can use it for models of their own. To read it, begin with the table
// of the commands in command/commands.go; run.go is the way of `cpor run` from the
// flags to the exit code; modes.go asks the engines which flags mean something to
// them. A further engine, reduction or front end registers itself, and is named in
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
	"os"

	"cpor/cmd/cpor/command"
)

func main() { os.Exit(command.Main(os.Args[1:])) }
