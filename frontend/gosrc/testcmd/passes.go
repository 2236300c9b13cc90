package testcmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/frontend/gosrc/machine"
	"cpor/internal/version"
)

// A package all of whose tests pass, covered completely by the interpreter, is kept as passed. It
// need not be explored again if nothing has changed: this program, the flags, the sources of all
// packages that the tests reach, the environment of the go command, and what the tests have seen of
// the disk, which the interpreter records. It has no environment, network or clock that could
// change. What the native machine runs sees the machine as it is, so it is never kept; neither is
// what was not covered, or fails.

// cacheVariable names the environment variable with the folder of passes; off: there is none.
const cacheVariable = "CPORCACHE"

// keptFor is how long a pass is kept that nobody asks for, and trimEvery how often old ones are
// looked for.
const (
	keptFor   = 5 * 24 * time.Hour
	trimEvery = 24 * time.Hour
)

// passes are the packages that have passed, each in a file of a folder.
type passes struct {
	dir   string
	begun time.Time // of the session
}

// keptPass is a pass, as it is kept.
type keptPass struct {
	Facts []machine.Fact // what the tests have seen of the disk
	Tests []keptTest
}

// keptTest is what the report about a test needs.
type keptTest struct {
	Test, Verdict, Summary string
	Elapsed                time.Duration
	Executions, States     uint64
	Samples                uint64
	Fixed, Raced           []string
	Parallel               bool
	Subtests               []keptSubtest
}

type keptSubtest struct{ Name, Verdict, Note string }

// openPasses returns the folder of passes; nil if the flags or the environment want none, or there
// can be none.
func (c *config) openPasses() *passes {
	if c.command != "test" || c.Given("count") || c.machine == nativeMachine || c.list != "" {
		return nil
	}
	dir := os.Getenv(cacheVariable)
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil
		}
		dir = filepath.Join(user, "cpor", "passes")
	}
	if dir == "off" || !filepath.IsAbs(dir) {
		return nil
	}
	return &passes{dir: dir, begun: time.Now()}
}

// besideVerdict are the flags on which no pass depends. They say what is shown and where, which
// packages and tests are taken, whose names are in the key, and what follows a failure.
var besideVerdict = []string{"v", "json", "color", "trace", "sarif", "replay", "C", "list", "count",
	"failfast"}

// decisive returns the values of all other flags.
func (c *config) decisive() []string {
	var values []string
	c.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(besideVerdict, f.Name) {
			values = append(values, f.Name+"="+f.Value.String())
		}
	})
	return values
}

// key names what the verdict on a package depends on, except what the tests see of the disk.
// It returns an empty key if a file was changed after the session began: its former content may
// have been loaded.
func (s *session) key(p *gosrc.Package, tests []gosrc.TestFunc) string {
	build, exact := version.Build()
	if !exact {
		return ""
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q %q\n", build, p.Path, p.Dir)
	fmt.Fprintf(h, "%q\n%q\n", s.decisive(), s.explore.Args)
	for _, t := range tests {
		fmt.Fprintf(h, "%q\n", t.Name)
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return !strings.HasPrefix(v, "GO") && !strings.HasPrefix(v, "CGO_")
	})
	slices.Sort(env)
	fmt.Fprintf(h, "%q\n", env)
	newest, err := p.Inputs(h)
	if err != nil || !newest.Before(s.kept.begun) {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (k *passes) file(key string) string { return filepath.Join(k.dir, key+".json") }

// load returns the pass of a package; nil if there is none, or the tests would see another disk.
func (k *passes) load(key string) *keptPass {
	b, err := os.ReadFile(k.file(key))
	if err != nil {
		return nil
	}
	pass := new(keptPass)
	if json.Unmarshal(b, pass) != nil || !pass.holds() {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(k.file(key), now, now) // it is only kept for a shorter time otherwise
	return pass
}

func (p *keptPass) holds() bool {
	for _, f := range p.Facts {
		if !f.Holds() {
			return false
		}
	}
	return true
}

// fromKept reports a package that has passed before. It returns false if it has not, or something
// has changed.
func (s *session) fromKept(key, pkg string, begin time.Time) bool {
	if key == "" {
		return false
	}
	pass := s.kept.load(key)
	if pass == nil {
		return false
	}
	var done []outcome
	for _, t := range pass.Tests {
		o := outcome{pkg: pkg, test: t.Test, machine: interpreted, verdict: verdict(t.Verdict),
			summary: t.Summary, elapsed: t.Elapsed, result: &gotest.Result{Verdict: engine.Pass,
				Executions: t.Executions, States: t.States, Samples: t.Samples, Fixed: t.Fixed,
				Raced: t.Raced, Parallel: t.Parallel}}
		for _, sub := range t.Subtests {
			o.subtests = append(o.subtests, subtest{sub.Name, verdict(sub.Verdict), sub.Note})
		}
		s.out.run(pkg, t.Test)
		s.out.done(o)
		done = append(done, o)
	}
	s.out.end(pkg, done, 0, ending{elapsed: time.Since(begin), cached: true})
	return true
}

// keep keeps a package as passed, if all its tests have passed, nothing has changed since
// the key was made, and the machine recorded what they have seen.
func (s *session) keep(key string, p *gosrc.Package, tests []gosrc.TestFunc, done []outcome) {
	if key == "" || len(done) != len(tests) {
		return
	}
	pass := &keptPass{Facts: s.explore.Seen.Facts()}
	for _, o := range done {
		r := o.result
		if o.verdict != passed && o.verdict != skipped || o.machine != interpreted || r == nil ||
			r.Verdict != engine.Pass || r.Slow != nil || r.Runs > 0 || len(r.Outside) > 0 {
			return
		}
		t := keptTest{Test: o.test, Verdict: string(o.verdict), Summary: o.summary,
			Elapsed: o.elapsed, Executions: r.Executions, States: r.States, Samples: r.Samples,
			Fixed: r.Fixed, Raced: r.Raced, Parallel: r.Parallel}
		for _, sub := range o.subtests {
			t.Subtests = append(t.Subtests, keptSubtest{sub.name, string(sub.verdict), sub.note})
		}
		pass.Tests = append(pass.Tests, t)
	}
	if s.key(p, tests) == key && pass.holds() {
		s.kept.store(key, pass)
	}
}

// store writes a pass. If that fails, the package is explored again the next time.
func (k *passes) store(key string, pass *keptPass) {
	b, err := json.Marshal(pass)
	if err != nil || os.MkdirAll(k.dir, 0o777) != nil {
		return
	}
	f, err := os.CreateTemp(k.dir, "new-*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if f.Close() != nil || err != nil || os.Rename(f.Name(), k.file(key)) != nil {
		_ = os.Remove(f.Name())
	}
	k.trim()
}

// written matches the names of files that store writes: the user may have chosen a folder that
// has others.
var written = regexp.MustCompile(`^([0-9a-f]{64}\.json|new-[0-9]+)$`)

// trim removes old passes, once a day.
func (k *passes) trim() {
	mark := filepath.Join(k.dir, "trimmed")
	if info, err := os.Stat(mark); err == nil && time.Since(info.ModTime()) < trimEvery {
		return
	}
	if os.WriteFile(mark, nil, 0o666) != nil {
		return
	}
	files, _ := os.ReadDir(k.dir) // an error only means that old ones stay
	for _, f := range files {
		info, err := f.Info()
		if err == nil && written.MatchString(f.Name()) && time.Since(info.ModTime()) > keptFor {
			_ = os.Remove(filepath.Join(k.dir, f.Name()))
		}
	}
}
