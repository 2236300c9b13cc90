package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cpor/engine"
	"cpor/engine/cluster"
	"cpor/engine/cluster/mpi"
	"cpor/frontend"
)

// modelFiles is what rank 0 tells the others about the model.
type modelFiles struct {
	File  string
	Begun int               // numbers the checkpoints
	Files map[string]string // the texts, by name; nil: there is none that is right
}

// world is the connection of a rank that MPI has started.
type world struct{ *mpi.World }

// Send implements [engine.Comm].
func (w world) Send(to int, m []byte) (engine.Sending, error) { return w.World.Send(to, m) }

// runRank is `cpor run -cluster`: it runs as one rank of a job. Rank 0 reads the
// model and prints; the others are silent, unless something is wrong with their
// own machine. All end with the same exit code.
func (e *env) runRank(c *runConfig) int {
	w, err := mpi.Init()
	switch {
	case errors.Is(err, mpi.ErrNone):
		return e.mistake("run", "-cluster: %v: start it with `%s` (docs/cluster.md)", err,
			commandLine(append(mpi.Command(4), "cpor", "run", "-cluster", c.file)))
	case err != nil:
		return e.mistake("run", "-cluster: %v", err)
	}
	return e.onRank(w, c, "run", e.rank)
}

// onRank does what a rank of a job has to do; the error is one of the connection, and
// ends all ranks.
func (e *env) onRank(w *mpi.World, c *runConfig, command string,
	do func(*runConfig) (int, error)) int {
	defer func() {
		if v := recover(); v != nil {
			// The others wait for this rank.
			fmt.Fprintf(os.Stderr, "cpor: rank %d: %v\n", w.Rank(), v)
			w.Abort(ExitMistake)
			panic(v)
		}
	}()
	c.Ranks = cluster.Connect(world{w})
	stderr := e.stderr // what goes wrong on a rank that is silent otherwise is told
	if w.Rank() != 0 {
		e.stdout, e.stderr = io.Discard, io.Discard
	}
	code, err := do(c)
	if err = cmp.Or(err, c.left); err != nil {
		fmt.Fprintf(stderr, "cpor: rank %d: %v\n", w.Rank(), err)
		if _, serr := os.Stat(filepath.Join(c.checkpoint, "checkpoint")); c.checkpoint != "" &&
			serr == nil {
			fmt.Fprintf(stderr, "cpor: rank %d: %s\n", w.Rank(),
				printable(c.goOn("resume from the last checkpoint with: ")))
		}
		w.Abort(ExitMistake)
		return ExitMistake
	}
	if err := w.Finalize(); err != nil {
		return e.mistake(command, "-cluster: %v", err)
	}
	return code
}

// goOn returns a text and the command that continues with a search.
func (c *runConfig) goOn(text string) string {
	args := append(strings.Fields(Program), "resume")
	if c.Disk != "" {
		args = append(args, fmt.Sprintf("-max-memory=%d", c.MaxMemory))
	}
	args = append(args, c.checkpoint)
	if c.Ranks != nil && c.Ranks.Size() > 1 {
		args = append(mpi.Command(c.Ranks.Size()), args...)
	}
	return text + commandLine(args)
}

// resumeRank is `cpor resume` for a search that was begun with -cluster: it continues on
// as many ranks as there are, or without a launcher in this process.
func (e *env) resumeRank(c *runConfig, load func() (*frontend.Program, int)) int {
	w, err := mpi.Init()
	if errors.Is(err, mpi.ErrNone) {
		m, code := load()
		if m == nil {
			return code
		}
		return e.run(c, m)
	}
	if err != nil {
		return e.mistake("resume", "-cluster: %v", err)
	}
	return e.onRank(w, c, "resume", func(c *runConfig) (int, error) {
		var m *frontend.Program
		code := ExitPass
		first := c.Ranks.Rank() == 0
		if first {
			m, code = load()
		}
		b, err := cluster.NewExchange(c.Ranks, cluster.Options{}).Broadcast([]byte{byte(code)})
		if err != nil {
			return 0, err
		}
		if len(b) == 1 && b[0] != ExitPass {
			return int(b[0]), nil
		}
		if !first {
			c.trace, c.coverage, c.sarif = "", "", ""
			if m, code = load(); m == nil {
				return code, errors.New("the model of the checkpoint cannot be read here: do all " +
					"ranks run the same cpor, with the same files?")
			}
		}
		return e.run(c, m), nil
	})
}

// rank runs one rank of a job. The error is one of the connection, and ends all
// ranks.
func (e *env) rank(c *runConfig) (code int, err error) {
	first := c.Ranks.Rank() == 0
	var m *frontend.Program
	var files modelFiles
	var merr error
	if first {
		if m, merr = e.load(&c.file, c.loading(nil)); merr == nil {
			files = modelFiles{c.file, int(time.Now().UnixMilli()), map[string]string{}}
			for _, f := range m.Sources {
				files.Files[f.Name] = f.Text
			}
		}
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
			return ExitMistake, nil
		}
		c.file, c.trace, c.coverage, c.sarif = files.File, "", "", ""
		if m, err = frontend.Load(c.file, c.loading(files.Files)); err != nil {
			return 0, fmt.Errorf("the model that rank 0 sent: %w", err)
		}
	}
	c.number = files.Begun
	return e.run(c, m), nil
}
