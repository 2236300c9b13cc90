// Package mcpserver is `cpor mcp`: a server of the Model Context Protocol, through which a language
// model checks models, explores Go tests, and looks at failures. Each tool runs the program cpor in
// a process of its own, with a limit of time and memory, which ends when the client cancels the
// call.
package mcpserver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cpor/internal/cliflag"
	"cpor/internal/sibling"
)

// The exit codes.
const (
	exitPass    = 0
	exitMistake = 2
)

// define returns the flags.
func (l *limits) define() *cliflag.Set {
	f := cliflag.New("mcp")
	f.DurationVar(&l.time, "timeout", defaultLimits.time, "end a search after this `time` at the "+
		"latest")
	f.Var((*cliflag.Size)(&l.memory), "max-memory", "end a search before its process takes more "+
		"memory than this `size` (default 2GiB)")
	f.Var((*cliflag.Size)(&l.output), "max-output", "answer a call with at most this `size` of "+
		"text (default 64KiB)")
	f.IntVar(&l.calls, "calls", defaultLimits.calls, "the largest `number` of calls at a time; "+
		"further ones wait")
	f.Group("Limits:", "timeout", "max-memory", "max-output", "calls")
	return f
}

// Main is the command: it serves the client on standard input and output until that is gone, and
// returns the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return serve(ctx, args, &mcp.StdioTransport{}, stdout, stderr)
}

func serve(ctx context.Context, args []string, transport mcp.Transport,
	stdout, stderr io.Writer) int {
	l := defaultLimits
	f := l.define()
	rest, err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, `usage: cpor mcp [flags]

Serves the Model Context Protocol on standard input and output: a program that
talks to a language model starts it, and the model can then check a model, run a
Go test under every schedule, explain a failure and replay it. For example,

  claude mcp add cpor -- cpor mcp`)
		f.Describe(stdout)
		fmt.Fprintln(stdout, `
Exit codes: 0 the client has left, 2 a mistake in the command.`)
		return exitPass
	}
	switch {
	case err == nil && len(rest) > 0:
		err = fmt.Errorf("mcp takes no arguments: %s", rest[0])
	case err == nil:
		err = l.check()
	}
	var program string
	if err == nil {
		program, _, err = sibling.Path("cpor")
	}
	if err != nil {
		fmt.Fprintf(stderr, "cpor mcp: %v (see \"cpor help mcp\")\n", err)
		return exitMistake
	}
	s, err := newServer(program, l)
	if err == nil {
		defer s.close()
		err = s.mcp.Run(ctx, transport)
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		fmt.Fprintf(stderr, "cpor mcp: %v\n", err)
		return exitMistake
	}
	return exitPass
}
