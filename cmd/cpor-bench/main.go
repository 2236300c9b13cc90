// Command cpor-bench is `cpor bench`, which runs it: the papers' tables, and comparisons with
// other checkers. It is a program of its own so that cpor does not carry the libraries that
// draw plots. What it measures is the cpor beside it, or the one on the PATH.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"cpor/bench"
	"cpor/detect/experiments"
)

// exitMistake is the exit code for a mistake in the command, and for a fault of the program.
const exitMistake = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command line and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(stderr, "cpor bench: internal error: %v\n%s", v, debug.Stack())
			code = exitMistake
		}
	}()
	if len(args) > 0 && args[0] == "detect" {
		return experiments.Main(ctx, args[1:], stdout, stderr)
	}
	return bench.Main(ctx, args, stdout, stderr)
}
