package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"cpor/engine/cluster"
	"cpor/engine/cluster/mpi"
	"cpor/frontend"
)

// modelFiles is what rank 0 tells the others about the model.
type modelFiles struct {
	File  string
	Files map[string]string // the texts, by name; nil: there is none that is right
}

// world is the connection of a rank that MPI has started.
type world struct{ *mpi.World }

// Send implements [cluster.Comm].
func (w world) Send(to int, m []byte) (cluster.Sending, error) { return w.World.Send(to, m) }

// runRank is `cpor run -cluster`: it runs as one rank of a job. Rank 0 reads the
// model and prints; the others are silent, unless something is wrong with their
// own machine. All end with the same exit code.
func (e *env) runRank(c *runConfig) int {
	w, err := mpi.Init()
	switch {
	case errors.Is(err, mpi.ErrNone):
		return e.mistake("run", "-cluster: %v: start it with `mpirun -n 4 cpor run -cluster %s` (docs/cluster.md)", err, c.file)
	case err != nil:
		return e.mistake("run", "-cluster: %v", err)
	}
	defer func() {
		if v := recover(); v != nil {
			// The others wait for this rank.
			fmt.Fprintf(os.Stderr, "cpor: rank %d: %v\n", w.Rank(), v)
			w.Abort(exitMistake)
			panic(v)
		}
	}()
	c.Ranks = cluster.Connect(world{w})
	stderr := e.stderr // what goes wrong on a rank that is silent otherwise is told
	code, err := e.rank(c)
	if err != nil {
		fmt.Fprintf(stderr, "cpor: rank %d: %v\n", w.Rank(), err)
		w.Abort(exitMistake)
		return exitMistake
	}
	if err := w.Finalize(); err != nil {
		return e.mistake("run", "-cluster: %v", err)
	}
	return code
}

// rank runs one rank of a job. The error is one of the connection, and ends all
// ranks.
func (e *env) rank(c *runConfig) (code int, err error) {
	first := c.Ranks.Rank() == 0
	var m *frontend.Program
	var files modelFiles
	var merr error
	if first {
		if m, merr = e.load(&c.file, frontend.Options{Params: c.params, Flags: c.own}); merr == nil {
			files = modelFiles{c.file, map[string]string{}}
			for _, f := range m.Sources {
				files.Files[f.Name] = f.Text
			}
		}
	} else {
		e.stdout, e.stderr = io.Discard, io.Discard
	}
	b, err := json.Marshal(files)
	if err != nil {
		return 0, err
	}
	if b, err = cluster.NewExchange(c.Ranks, cluster.Options{}).Broadcast(b); err != nil {
		return 0, err
	}
	if merr != nil {
		return e.modelError(merr), nil
	}
	if !first {
		if err := json.NewDecoder(bytes.NewReader(b)).Decode(&files); err != nil {
			return 0, fmt.Errorf("the model that rank 0 sent cannot be read: %w", err)
		}
		if files.Files == nil {
			return exitMistake, nil
		}
		c.file, c.trace, c.coverage = files.File, "", ""
		if m, err = frontend.Load(c.file, frontend.Options{Params: c.params, Flags: c.own, Files: files.Files}); err != nil {
			return 0, fmt.Errorf("the model that rank 0 sent: %w", err)
		}
	}
	return e.run(c, m), nil
}
