//go:build !models && !gotests

package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/browser"

	"cpor/engine"
	"cpor/engine/search/reduction"
	"cpor/explore"
	"cpor/explore/page"
	"cpor/frontend"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/testcmd"
	"cpor/frontend/source"
	"cpor/internal/cliflag"
)

// pageConfig is what the flags of `cpor explore` and `cpor view` say.
type pageConfig struct {
	command   string
	params    map[string]string
	own       map[string]string // the flags of the front ends
	lang      string            // of the standard input
	noBrowser bool
	port      int
	test      string // a Go test
	set       *cliflag.Set
}

func (c *pageConfig) define() *cliflag.Set {
	f := cliflag.New(c.command)
	c.params, c.own = map[string]string{}, map[string]string{}
	defineParams(f, c.params)
	f.BoolVar(&c.noBrowser, "no-browser", false, "print the address without opening a browser")
	f.IntVar(&c.port, "port", 0, "serve the page on this `port` of 127.0.0.1 (default: any that "+
		"is free)")
	f.Group("Flags:", "D", "U", "no-browser", "port")
	if c.command == "explore" {
		f.StringVar(&c.test, "test", "", "explore this `test` of a Go package; the default is a "+
			"main package")
		f.Group("Go packages:", "test")
		defineLanguage(f, &c.lang)
		f.Group("The standard input:", "lang")
	}
	c.set = f
	// The page shows steps one by one.
	defineFrontEndFlags(f, c.own, append([]string{"semantics"}, notKept...)...)
	return f
}

// pages are the commands that serve a page.
var pages = []*command{
	{name: "explore", summary: "explore a model by hand in the browser", run: exploreCommand},
	{name: "view", summary: "show a trace or a result in the browser", run: viewCommand},
}

func exploreHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor explore [flags] FILE.model
       cpor explore -test NAME [flags] PACKAGE

Opens a page in the browser to explore a model by hand: take enabled transitions,
go back, jump to a state, search from there, watch a search, look at the state
graph. It also explores a test of a Go package, or a main package named by its
directory ("./cmd/worker"), but does not check for data races; "cpor test" does.
The page is served on 127.0.0.1 only, until Ctrl-C.`)
	(&pageConfig{command: "explore"}).define().Describe(w)
}

func viewHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor view [flags] FILE.json [FILE.model]
       cpor view [flags] FILE.json [PACKAGE]

Opens a page in the browser that shows an execution step by step: a trace written
by "cpor run -trace FILE.json" or "cpor test -trace FILE.json", or the output of
"cpor run -json", "cpor detect -json" or "cpor conform -json". If the model or the
Go package is available, the page shows the whole state at each step, and lets you
continue from there as with "cpor explore". The file says which constants (-D) the
model had. The page is served on 127.0.0.1 only, until Ctrl-C.`)
	(&pageConfig{command: "view"}).define().Describe(w)
}

// parse reads the command line.
func (c *pageConfig) parse(args []string, most int, what string) ([]string, error) {
	files, err := c.define().Parse(args)
	switch {
	case err != nil:
		return nil, err
	case len(files) == 0:
		return nil, errors.New(what)
	case len(files) > most:
		return nil, fmt.Errorf("%d files are too many: %s", len(files), commandLine(files))
	case c.port < 0 || c.port > 65535:
		return nil, fmt.Errorf("-port %d: want a number from 1 to 65535", c.port)
	}
	return files, nil
}

// exploreCommand is `cpor explore`.
func exploreCommand(e *env, args []string) int {
	c := &pageConfig{command: "explore"}
	files, err := c.parse(args, 1, "no model given: name a file, such as benchmarks/robots.model")
	if errors.Is(err, flag.ErrHelp) {
		exploreHelp(e.stdout)
		return ExitPass
	} else if err != nil {
		return e.mistake(c.command, "%v (see \"cpor help explore\")", err)
	}
	if goPackage(files) {
		return e.exploreGo(c, files[0])
	}
	if c.set.Given("test") {
		return e.mistake(c.command, "-test is for Go packages, and %s is none", files[0])
	}
	file, err := inLanguage(files[0], c.lang)
	if err != nil {
		return e.mistake(c.command, "%v", err)
	}
	m, err := e.load(&file, frontend.Options{Params: c.params, Flags: c.own})
	if err != nil {
		return e.modelError(err)
	}
	s := &page.Server{Title: file}
	e.explorable(c, s, file, m)
	return e.serve(c, s)
}

// ofModels returns a flag that was given and is for models only; "" if there is none.
func (c *pageConfig) ofModels() (name string) {
	c.set.Visit(func(f *flag.Flag) {
		if f.Name == "D" || f.Name == "U" || f.Name == "lang" || OfFrontEnd(f.Name) {
			name = f.Name
		}
	})
	return name
}

// exploreGo is `cpor explore` of a Go package.
func (e *env) exploreGo(c *pageConfig, dir string) int {
	if name := c.ofModels(); name != "" {
		return e.mistake(c.command, "-%s is for models, and %s is a Go package", name, dir)
	}
	sys, err := goProgram(e.ctx, dir, c.test, gosrc.Explore{NoRaces: true})
	if err != nil {
		return e.mistake(c.command, "%v", err)
	}
	title := dir
	if c.test != "" {
		title += ": " + c.test
	}
	s := &page.Server{Title: title, ReadSource: readSource}
	e.explorable(c, s, dir, &frontend.Program{System: sys})
	s.Explorer.Refused = refusedBy(sys)
	return e.serve(c, s)
}

// refusedBy is Explorer.Refused of a Go program.
func refusedBy(sys *gosrc.Program) func() error {
	return func() error {
		if u := sys.Unsupported(); u != nil {
			return u
		}
		if why := sys.GaveUp(); why != "" {
			return errors.New(why)
		}
		return nil
	}
}

// viewCommand is `cpor view`.
func viewCommand(e *env, args []string) int {
	c := &pageConfig{command: "view"}
	files, err := c.parse(args, 2, "no trace given: name a file written by -trace FILE.json of "+
		"cpor run or cpor test")
	if errors.Is(err, flag.ErrHelp) {
		viewHelp(e.stdout)
		return ExitPass
	} else if err != nil {
		return e.mistake(c.command, "%v (see \"cpor help view\")", err)
	}
	kept, err := explore.Read(files[0])
	if err != nil {
		if pe := new(fs.PathError); errors.As(err, &pe) {
			return e.mistake(c.command, "%v", pathError(err)) // which has the name
		}
		return e.mistake(c.command, "%s: %v", files[0], pathError(err))
	}
	s := &page.Server{Title: kept.Summary, Kept: kept, ReadSource: readSource}
	if kept.Package != "" {
		return e.viewGo(c, s, files)
	}
	if len(files) > 1 {
		kept.Rename(files[1])
	} else if beside := modelBeside(files[0], kept.Model); beside != "" {
		kept.Rename(beside)
	}
	if kept.Model == "" || isStdin(kept.Model) {
		return e.serve(c, s)
	}
	if err := c.loadAs(kept); err != nil {
		return e.mistake(c.command, "%s: %v", files[0], err)
	}
	m, err := frontend.Load(kept.Model, frontend.Options{Params: c.params, Flags: c.own})
	switch {
	case err != nil && len(files) > 1:
		return e.modelError(err)
	case err != nil:
		// The file tells what happened all the same.
		for _, d := range kept.Documents {
			first, _, _ := strings.Cut(err.Error(), "\n")
			d.Notes = append(d.Notes, "Showing only the contents of the file, because the model "+
				"cannot be loaded: "+first)
		}
	default:
		e.explorable(c, s, kept.Model, m)
		kept.Restore(e.ctx, s.Explorer)
	}
	return e.serve(c, s)
}

// modelBeside returns where a model is relative to the file that names it. It is empty if there is
// a model relative to the current directory, or none at all.
func modelBeside(file, model string) string {
	if model == "" || isStdin(model) || filepath.IsAbs(model) {
		return ""
	}
	if _, err := os.Stat(model); err == nil {
		return ""
	}
	beside := filepath.Join(filepath.Dir(file), model)
	if _, err := os.Stat(beside); err != nil {
		return ""
	}
	return beside
}

// loadAs loads the model with the constants and flags in a file, unless the command line gives
// others.
func (c *pageConfig) loadAs(kept *explore.Kept) error {
	for name, value := range kept.Params {
		if _, given := c.params[name]; !given {
			c.params[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kept.Flags)) {
		if c.set.Given(name) || !OfFrontEnd(name) || c.set.Lookup(name) == nil {
			continue
		}
		for value := range strings.SplitSeq(kept.Flags[name], "\n") {
			if err := c.set.Set(name, value); err != nil {
				return fmt.Errorf("the flag -%s=%s in it: %w", name, value, err)
			}
		}
	}
	return nil
}

// viewGo is `cpor view` of a trace of a Go test or program: files are the trace and, if it
// was given, the directory of the package.
func (e *env) viewGo(c *pageConfig, s *page.Server, files []string) int {
	if name := c.ofModels(); name != "" {
		return e.mistake(c.command, "-%s is for models, and %s is of a Go package", name, files[0])
	}
	doc, err := testcmd.ReadSaved(files[0])
	if err != nil {
		return e.mistake(c.command, "%v", pathError(err))
	}
	// The places in the file are relative to where the search ran.
	s.ReadSource = func(name string) (string, error) {
		if text, err := readSource(filepath.Join(doc.Base, name)); err == nil &&
			!filepath.IsAbs(name) {
			return text, nil
		}
		return readSource(name)
	}
	dir := doc.Dir
	if len(files) > 1 {
		dir = files[1]
	} else if _, err := os.Stat(dir); err != nil {
		dir = "."
	}
	x, goOn, err := e.restoredGo(s.Kept, doc, dir)
	switch {
	case err != nil && len(files) > 1:
		return e.mistake(c.command, "%s does not fit the package in %s: %v", files[0], dir, err)
	case err != nil:
		d := s.Kept.Documents[0]
		d.Notes = append(d.Notes, "Showing only the contents of the file: "+err.Error())
		return e.serve(c, s)
	}
	s.ReadSource = readSource // the places are those of the program, from here
	if goOn {
		e.explorable(c, s, doc.Package, x.Program)
		s.Explorer.Refused = x.Refused
	}
	return e.serve(c, s)
}

// restoredGo executes the execution of a file. The explorer that continues from there does not
// look for data races: what happened before is in no state that one could go back to.
func (e *env) restoredGo(kept *explore.Kept, doc *testcmd.Saved, dir string) (x *explore.Explorer,
	goOn bool, err error) {
	own, err := doc.Program(e.ctx, dir)
	if err != nil {
		return nil, false, err
	}
	plain, err := own.WithoutRaces()
	if err == nil {
		err = doc.Number(plain)
	}
	if err != nil {
		return nil, false, err
	}
	x = &explore.Explorer{Program: &frontend.Program{System: plain}, File: doc.Package,
		Refused: refusedBy(plain)}
	goOn, err = kept.RestoreSchedule(x, own, doc.Trace())
	if err != nil {
		err = fmt.Errorf("the program has changed since: %w", err)
	}
	return x, goOn, err
}

// maxSource bounds the sources that are shown.
const maxSource = 4 << 20

// readSource reads a file that a trace names.
func readSource(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return "", pathError(err)
	case !info.Mode().IsRegular() || info.Size() > maxSource:
		return "", fmt.Errorf("%s is not a text file small enough to show", name)
	}
	f, err := source.Read(name)
	if err != nil {
		return "", pathError(err)
	}
	return f.Text, nil
}

// explorable lets the page explore a program.
func (e *env) explorable(c *pageConfig, s *page.Server, file string, m *frontend.Program) {
	s.Explorer = &explore.Explorer{Program: m, File: file}
	if m.Source(file) != nil {
		s.Explorer.Reload = func(text string) (*frontend.Program, error) {
			files := map[string]string{}
			for _, f := range m.Sources {
				files[f.Name] = f.Text
			}
			files[file] = text
			return frontend.Load(file, frontend.Options{Params: c.params, Flags: c.own,
				Files: files})
		}
	}
	s.Searches = searchKinds(m)
	for _, r := range engine.Entries(reduction.Mode) {
		if _, err := reduction.Expanders(r.Name, &engine.Task{System: m.System}); err == nil &&
			r.Unmet(m.System) == nil {
			s.Reductions = append(s.Reductions, r.Name)
		}
	}
	s.Plan = func(flags []string, at *explore.Path) (*explore.Plan, error) {
		return e.planned(c, s.Explorer, flags, at)
	}
}

// searchKinds are the searches from which the page lets one choose.
func searchKinds(m *frontend.Program) []page.SearchKind {
	var kinds []page.SearchKind
	for _, mode := range engine.Modes() {
		for _, r := range engine.Entries(mode.Name) {
			k := page.SearchKind{Name: mode.Prefix + r.Name, Summary: r.Summary, Flags: []string{
				"-por=" + r.Name}}
			switch {
			case mode.Temporal && len(propertyNames(m)) == 0, r.Unmet(m.System) != nil:
				continue
			case mode.Temporal:
				k.Flags = append(k.Flags, "-ltl=all")
			case !mode.Default:
				k.Flags = append(k.Flags, "-search="+mode.Name)
			}
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// elsewhereOnly are flags of `cpor run` that have no meaning for a search of the page:
// what they say is said otherwise, or there is nothing to print.
var elsewhereOnly = []string{"D", "json", "trace", "trace-states", "sarif", "q", "profile",
	"cluster"}

// planned prepares a search with the flags of `cpor run`.
func (e *env) planned(c *pageConfig, x *explore.Explorer, flags []string,
	at *explore.Path) (*explore.Plan, error) {
	var r runConfig
	for _, a := range flags {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if strings.HasPrefix(a, "-") && (slices.Contains(elsewhereOnly, name) || OfFrontEnd(name)) {
			return nil, fmt.Errorf("-%s has no effect in a search started from the page", name)
		}
		if a == "--" {
			return nil, errors.New("-- is not a flag")
		}
	}
	if err := r.parse(slices.Concat(flags, []string{"--", x.File})); errors.Is(err, flag.ErrHelp) {
		return nil, errors.New("\"cpor help run all\" describes the flags")
	} else if err != nil {
		return nil, err
	}
	// The search has a program of its own, so that what it executes is counted apart from
	// what is executed for the page.
	own := x
	if main := x.Program.Source(x.File); main != nil && x.Reload != nil {
		fresh, err := x.Reload(main.Text)
		if err != nil {
			return nil, err
		}
		own = &explore.Explorer{Program: fresh, File: x.File}
	}
	t, err := r.task(own.Program)
	if err != nil {
		return nil, err
	}
	p := &explore.Plan{Name: r.mode.Prefix + r.entry.Name, Entry: r.entry, Task: t}
	if own != x {
		p.Program = own.Program
	}
	if at != nil {
		switch {
		case r.mode.Temporal:
			return nil, errors.New("temporal properties are about whole executions: they can " +
				"only be checked from the initial state")
		case r.checkpoint != "":
			return nil, errors.New("a search from this state cannot write checkpoints: \"cpor " +
				"resume\" continues only searches from the initial state")
		}
		if t.System, err = own.From(*at); err != nil {
			return nil, err
		}
	}
	if r.checkpoint != "" {
		r.kept = append(r.kept, kept(c)...)
		p.Done = e.keepCheckpoints(&r, own.Program, t)
	}
	return p, nil
}

// kept are the flags that say what is explored as `cpor run` takes them.
func kept(c *pageConfig) []string {
	var flags []string
	for _, name := range slices.Sorted(maps.Keys(c.params)) {
		flags = append(flags, "-D="+name+"="+c.params[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.own)) {
		for value := range strings.SplitSeq(c.own[name], "\n") {
			flags = append(flags, "-"+name+"="+value)
		}
	}
	return flags
}

// serve serves the page until the interruption.
func (e *env) serve(c *pageConfig, s *page.Server) int {
	l, err := page.Listen(c.port)
	if err != nil {
		var oe *net.OpError
		if errors.As(err, &oe) {
			err = oe.Err
		}
		return e.mistake(c.command, "cannot listen on port %d of 127.0.0.1: %v", c.port, err)
	}
	err = s.Serve(e.ctx, l, func(address string) {
		fmt.Fprintf(e.stdout, "%s\nserves the page until Ctrl-C\n", address)
		if c.noBrowser {
			return
		}
		browser.Stdout, browser.Stderr = io.Discard, io.Discard
		if err := browser.OpenURL(address); err != nil {
			fmt.Fprintf(e.stderr,
				"cpor %s: cannot open a browser (%v): open the address yourself\n", c.command, err)
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return e.mistake(c.command, "%v", err)
	}
	return ExitPass
}
