// Command cpor-mcp is `cpor mcp`, which runs it. It is a program of its own so that cpor does not
// carry the library of the protocol. It runs the cpor beside it, or the one on the PATH.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"cpor/internal/mcpserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(mcpserver.Main(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
