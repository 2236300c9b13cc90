package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/engine/cluster/mpi"
	"cpor/frontend"
	"cpor/frontend/source"
	"cpor/internal/version"
	"cpor/statestore/spill"
)

// session are the flags of `cpor run` that may change when a search continues: they do
// not say what is explored.
var session = []string{"workers", "timeout", "max-states", "max-transitions", "max-memory", "json",
	"trace", "trace-states", "sarif", "minimize", "coverage", "q", "color", "profile",
	"checkpoint-interval"}

// checkpointHeader is what is in front of a checkpoint.
type checkpointHeader struct {
	Build string // see version.Build
	File  string
	Files map[string]string // the texts of the model, by name
	Flags []string          // that say what is explored, as they were given
	// Of a search on ranks: the parts and the number of the checkpoint, which their
	// files have in their names.
	Parts, Number int
}

// split divides the arguments of `cpor run` into the flags that say what is explored,
// and those that may change when a search continues. -checkpoint and the file are in
// neither.
func split(args []string) (kept, changing []string) {
	f := new(runConfig).define()
	args = f.Current(args)
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			break
		}
		if len(a) < 2 || a[0] != '-' {
			continue
		}
		name, _, whole := strings.Cut(strings.TrimLeft(a, "-"), "=")
		fl := f.Lookup(name)
		if fl == nil {
			continue
		}
		this := []string{a}
		if b, ok := fl.Value.(interface{ IsBoolFlag() bool }); !whole && !(ok && b.IsBoolFlag()) &&
			i+1 < len(args) {
			i++
			this = append(this, args[i])
		}
		switch {
		case name == "checkpoint":
		case slices.Contains(session, name):
			changing = append(changing, this...)
		default:
			kept = append(kept, this...)
		}
	}
	return kept, changing
}

// keepCheckpoints lets a task keep checkpoints, in a directory that is not touched before
// the engine says that it can. done lets others have it.
func (e *env) keepCheckpoints(c *runConfig, m *frontend.Program, t *engine.Task) (done func()) {
	var dir *checkpoint.Dir
	build, _ := version.Build()
	h := checkpointHeader{Build: build, File: c.file, Files: map[string]string{}, Flags: c.kept}
	for _, f := range m.Sources {
		h.Files[f.Name] = f.Text
	}
	t.Checkpoint = &engine.Checkpoint{Every: c.checkpointEvery, Dir: c.checkpoint,
		Open: func() (err error) {
			if dir, err = checkpoint.OpenDir(c.checkpoint); err != nil {
				return &engine.OptionError{Message: pathError(err).Error()}
			}
			return nil
		}}
	if c.from != nil {
		t.Checkpoint.From = c.from
	}
	done = func() {
		if dir != nil {
			dir.Close()
		}
	}
	warn := func(err error) {
		fmt.Fprintf(e.stderr, "%s run: -checkpoint: %v; the search goes on\n", Program,
			printable(err.Error()))
	}
	if c.cluster {
		h.Number = c.number
		t.Checkpoint.Parts = e.keepParts(c, h, func() *checkpoint.Dir { return dir }, warn)
		return done
	}
	t.Checkpoint.Write = func(save func(io.Writer) error) func(error) bool {
		p, err := dir.Begin(h, save)
		if err != nil {
			warn(err)
			return func(error) bool { return false }
		}
		return func(err error) bool {
			if err != nil {
				p.GiveUp()
			} else {
				err = p.Commit()
			}
			if err == nil {
				err = p.Sweep()
			}
			if err == nil && c.Disk == "" {
				err = spill.KeepOnly(c.checkpoint, nil) // of another search that was there before
			}
			if err == nil {
				err = spill.KeepRanks(c.checkpoint, 0)
			}
			if err != nil {
				warn(err)
			}
			return err == nil
		}
	}
	return done
}

// keepParts is keepCheckpoints for a search that is divided among ranks, all of which
// see the directory. A checkpoint has a number of its own, so that what is written of
// the next one does not touch the one that counts.
func (e *env) keepParts(c *runConfig, h checkpointHeader, dir func() *checkpoint.Dir,
	warn func(error)) *engine.Parts {
	from, counts, told := h.Number, h.Number, false
	return &engine.Parts{
		From: c.parts,
		Open: func(part int) (io.ReadCloser, error) {
			r, err := checkpoint.OpenPart(c.checkpoint, from, part)
			if err != nil {
				return nil, fmt.Errorf("%w (all ranks must see the directory)", pathError(err))
			}
			return r, nil
		},
		Write: func(n, part int, save func(io.Writer) error) error {
			return checkpoint.WritePart(c.checkpoint, from+n, part, save)
		},
		Commit: func(n, parts int, err error) bool {
			h.Parts, h.Number = parts, from+n
			if err == nil {
				var p *checkpoint.Pending
				if p, err = dir().Begin(h, func(io.Writer) error { return nil }); err == nil {
					if !told && c.Ranks != nil && c.Ranks.Size() > 1 {
						told = true // before this rank can die
						fmt.Fprintln(e.stderr, Program+" run:",
							printable(c.goOn("if a rank dies, resume from the last checkpoint "+
								"with: ")))
					}
					err = p.Commit()
				}
			}
			if err != nil {
				warn(err)
			} else {
				counts = h.Number
			}
			kerr := dir().Keep(counts)
			if ranks := 1; err == nil {
				switch {
				case c.Disk == "":
					ranks = 0
				case c.Ranks != nil:
					ranks = c.Ranks.Size()
				}
				kerr = errors.Join(kerr, spill.KeepOnly(c.checkpoint, nil),
					spill.KeepRanks(c.checkpoint, ranks))
			}
			if kerr != nil {
				warn(kerr)
			}
			return err == nil
		},
	}
}

func resumeHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor resume [flags] DIR

Resumes a search from the checkpoint that "cpor run -checkpoint DIR" has written,
as if it had never been interrupted, with the same model, constants and search
flags. A search with -disk needs -max-memory again, and may use another directory.
A search started with -cluster resumes on the ranks that "mpirun -n 4 cpor resume
DIR" starts, or without mpirun in one process. Flags that may change:`)
	f := new(runConfig).define()
	f.VisitAll(func(fl *flag.Flag) {
		if slices.Contains(session, fl.Name) || fl.Name == "disk" {
			fmt.Fprintf(w, "  -%s\n", fl.Name)
		}
	})
	fmt.Fprintln(w, `
"cpor help run all" describes these flags. Limits that are not repeated are off. The
search continues to write checkpoints to DIR. Exit codes are those of cpor run.`)
}

// isDisk reports whether an argument is the flag -disk.
func isDisk(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name == "disk" && arg[0] == '-'
}

// resumeCommand is `cpor resume`.
func resumeCommand(e *env, args []string) int {
	f := new(runConfig).define()
	dirs, err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		resumeHelp(e.stdout)
		return ExitPass
	}
	if err == nil && len(dirs) != 1 {
		err = errors.New("no search given: name the directory of its checkpoints")
	}
	f.Visit(func(fl *flag.Flag) {
		if !slices.Contains(session, fl.Name) && fl.Name != "disk" && err == nil {
			err = fmt.Errorf("-%s cannot change when a search is resumed", fl.Name)
		}
	})
	if err != nil {
		return e.mistake("resume", "%v (see \"cpor help resume\")", err)
	}
	var h checkpointHeader
	r, err := checkpoint.Open(dirs[0], &h)
	if err != nil {
		return e.mistake("resume", "%v", pathError(err))
	}
	defer r.Close()
	again, changing := split(args) // again has the directory of -disk, if that is another one now
	var c runConfig
	perr := c.parse(slices.Concat(h.Flags, again, changing, []string{"-checkpoint=" + dirs[0], "--",
		h.File}))
	load := func() (*frontend.Program, int) {
		if b, _ := version.Build(); h.Build != b {
			return nil, e.mistake("resume", "%s was written by another build of cpor, %s; this "+
				"one is %s", r.Path(), h.Build, b)
		}
		if changed := changes(h.Files); changed != "" {
			fmt.Fprint(e.stderr, printable(changed))
			return nil, e.mistake("resume", "the model has changed since the search began, so "+
				"its checkpoint does not apply")
		}
		if perr != nil {
			return nil, e.mistake("resume", "%v", perr)
		}
		if was, _ := split(h.Flags); c.Disk != "" && !slices.ContainsFunc(was, isDisk) {
			return nil, e.mistake("resume", "this search was started without -disk and can only "+
				"continue in memory")
		}
		m, err := frontend.Load(c.file, c.loading(h.Files))
		if err != nil {
			return nil, e.modelError(err)
		}
		return m, ExitPass
	}
	c.kept, c.from, c.parts, c.number = h.Flags, r, h.Parts, h.Number
	if h.Parts > 0 {
		return e.resumeRank(&c, load)
	}
	if mpi.Ranks() > 1 {
		w, err := mpi.Init()
		if err != nil {
			return e.mistake("resume", "-cluster: %v", err)
		}
		return e.onRank(w, &c, "resume", func(*runConfig) (int, error) {
			return e.mistake("resume", "this search was started without -cluster, so it can only "+
				"continue in one process: use \"cpor resume %s\" and without mpirun or srun",
				printable(dirs[0])), nil
		})
	}
	m, code := load()
	if m == nil {
		return code
	}
	return e.run(&c, m)
}

// changes returns what is different in the files that are still there, as a diff.
func changes(files map[string]string) string {
	var b strings.Builder
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, err := source.Read(name)
		if err == nil && f.Text != files[name] {
			b.Write(diff.Diff(name+" (then)", []byte(files[name]), name+" (now)", []byte(f.Text)))
		}
	}
	return b.String()
}
