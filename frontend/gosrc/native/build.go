package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	goversion "go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cpor/system"
)

// BuildOptions say what is built.
type BuildOptions struct {
	Dir     string   // of the module; empty: the working directory
	Package string   // as the go command names it: ./pool
	Tags    []string // of the build, besides ours
	// where overlays and binaries are kept; empty: below the user's cache directory
	Cache string
	Env   []string // further environment, of the build and of the tests
	Args  []string // of the test binary, such as -test.short
	// Main: the tests stand for main functions. The end of one ends its goroutines.
	Main bool

	goroot string // if it is not that which the go command finds
}

// Binary is a test binary that runs under our scheduler. It is safe for concurrent use.
type Binary struct {
	o       BuildOptions
	file    string
	pkgDir  string
	goroot  string
	temp    string
	held    *os.File // of temp, while it is needed
	polls   bool
	bubbles bool // the program may use testing/synctest
	symbols *symbols
	threads system.Names[threadName]
	locs    system.Names[locName]
	names   names
}

// uninstrumented packages are not looked at for data races: their own locks are no
// synchronization of the program.
var uninstrumented = []string{"testing", "internal/poll", "os", "internal/godebug",
	"internal/testlog", "syscall", "sync", "internal/sync"}

// oldest is the first version of Go whose run-time the overlay fits.
const oldest = "go1.25"

// Build compiles the tests of a package. It is an [Unsupported] error if there is no native
// machine for the platform, or for the version of Go; other errors are those of the go command.
func Build(ctx context.Context, o BuildOptions) (*Binary, error) {
	out, err := goCommand(ctx, o, "env", "GOROOT", "GOVERSION", "GOOS", "GOARCH", "GOFLAGS",
		"GOMODCACHE")
	if err != nil {
		return nil, err
	}
	env := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(env) != 6 {
		return nil, fmt.Errorf("go env says %q", out)
	}
	if env[2] != "linux" || env[3] != "amd64" {
		return nil, &Unsupported{"there is none for " + env[2] + "/" + env[3] +
			", only for linux/amd64"}
	}
	if goversion.Compare(env[1], oldest) < 0 {
		return nil, &Unsupported{"it needs Go " + oldest[2:] + " or later, and this is " + env[1]}
	}
	if o.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		o.Cache = filepath.Join(dir, "cpor", "native")
	}
	if strings.HasPrefix(env[0], env[5]+string(filepath.Separator)) {
		if env[0], err = outside(env[0], env[1], o.Cache); err != nil {
			return nil, err
		}
		o.goroot = env[0]
	}
	deps, err := dependencies(ctx, o)
	if err != nil {
		return nil, err
	}
	overlay, err := makeOverlay(env[0], env[1], env[3], o.Cache)
	if err != nil {
		return nil, err
	}
	temp, held, err := tempDir()
	if err != nil {
		return nil, err
	}
	if overlay, err = withCheck(deps, overlay, temp); err != nil {
		return nil, errors.Join(err, os.RemoveAll(temp), held.Close())
	}
	b := &Binary{o: o, goroot: env[0], temp: temp, held: held, file: filepath.Join(temp, "tests")}
	if _, err := goCommand(ctx, o, o.command(overlay, b.file, env[4])...); err != nil {
		b.Close()
		return nil, err
	}
	if _, err := os.Stat(b.file); err != nil {
		b.Close()
		return nil, fmt.Errorf("%s has no tests", o.Package)
	}
	b.pkgDir = deps[slices.IndexFunc(deps, func(d dependency) bool { return d.named })].dir
	if b.polls, err = polls(deps); err != nil {
		b.Close()
		return nil, err
	}
	b.bubbles = slices.ContainsFunc(deps,
		func(d dependency) bool { return d.path == "testing/synctest" })
	if err := writeBounds(b.file, b.bounds(), deps); err != nil {
		b.Close()
		return nil, err
	}
	if b.symbols, err = readSymbols(b.file, b.goroot); err != nil {
		b.Close()
		return nil, err
	}
	b.threads.Number(threadName{-1, 0})
	return b, nil
}

// command is the go command that compiles the tests to a file; goflags is GOFLAGS.
func (o BuildOptions) command(overlay, file, goflags string) []string {
	args := []string{"test", "-c", "-vet=off", "-overlay", overlay, "-tags", o.tags(), "-o", file,
		"-gcflags=all=-race -d=checkptr=0"}
	if !strings.Contains(goflags, "-ldflags") {
		// With the symbols of variables, see writeBounds; segments begin where large pages do, see
		// cporOwnText.
		args = append(args, "-ldflags=-w -R=0x200000")
	}
	for _, p := range uninstrumented {
		flags := ""
		if p == "testing" {
			flags = "-l"
		}
		args = append(args, "-gcflags="+p+"="+flags)
	}
	return append(args, o.Package)
}

// tags are those of the build, with ours.
func (o BuildOptions) tags() string {
	return strings.Join(append([]string{"race", "faketime"}, o.Tags...), ",")
}

// dependency is a package that the tests need.
type dependency struct {
	path, dir string
	named     bool // it is BuildOptions.Package, or of its tests
	standard  bool
	assembly  bool
	imports   []string
	files     []string
}

// dependencies returns the packages that the tests need, with that of the tests itself.
func dependencies(ctx context.Context, o BuildOptions) (deps []dependency, err error) {
	const format = `{{.ImportPath}}{{"\t"}}{{.Dir}}{{"\t"}}{{.DepOnly}}{{"\t"}}` +
		`{{.Standard}}{{"\t"}}{{len .SFiles}}{{"\t"}}{{join .Imports ","}}` +
		`{{range .GoFiles}}{{"\t"}}{{.}}{{end}}{{range .CgoFiles}}{{"\t"}}{{.}}{{end}}`
	out, err := goCommand(ctx, o, "list", "-test", "-deps", "-tags", o.tags(), "-f", format,
		o.Package)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		deps = append(deps, dependency{path: f[0], dir: f[1], named: f[2] == "false",
			standard: f[3] == "true", assembly: f[4] != "0", imports: strings.Split(f[5], ","),
			files: f[6:]})
	}
	return deps, nil
}

// outside returns another name for the directory of a Go distribution that the go command has
// downloaded: no overlay may replace files beneath the cache of modules.
func outside(goroot, version, cache string) (string, error) {
	link := filepath.Join(cache, "goroot-"+version)
	if to, err := os.Readlink(link); err == nil && to == goroot {
		return link, nil
	}
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return "", err
	}
	// Made beside and renamed, since others may do the same.
	tmp, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := os.Symlink(goroot, filepath.Join(tmp, "goroot")); err != nil {
		return "", err
	}
	return link, os.Rename(filepath.Join(tmp, "goroot"), link)
}

// bounds is the file that writeBounds has written.
func (b *Binary) bounds() string { return filepath.Join(b.temp, "bounds") }

// Close removes the binary.
func (b *Binary) Close() error { return errors.Join(os.RemoveAll(b.temp), b.held.Close()) }

const tempPrefix = "cpor-native-"

// tempDir makes a directory for temporary files, which the lock of a file in it holds. Those of
// processes that were killed, which nobody holds, are removed.
func tempDir() (dir string, held *os.File, err error) {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*", "held"))
	for _, file := range old {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		if err != nil {
			continue // of somebody else, or just removed
		}
		if hold(f) == nil {
			_ = os.RemoveAll(filepath.Dir(file)) // the next one tries it again
		}
		f.Close()
	}
	if dir, err = os.MkdirTemp("", tempPrefix); err != nil {
		return "", nil, err
	}
	// It gets its name when it is held, so that nobody takes it for a forgotten one.
	f, err := os.Create(filepath.Join(dir, "new"))
	if err == nil {
		err = hold(f)
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, "held"))
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, f, nil
}

func goCommand(ctx context.Context, o BuildOptions, args ...string) ([]byte, error) {
	name := "go"
	env := append(os.Environ(), "CGO_ENABLED=0")
	if o.goroot != "" {
		name = filepath.Join(o.goroot, "bin", "go")
		env = append(env, "GOROOT="+o.goroot, "GOTOOLCHAIN=local")
	}
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = o.Dir
	c.Env = append(env, o.Env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	ownGroup(c)
	c.Cancel = func() error { killGroup(c); return nil }
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			return nil, errors.New(text)
		}
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return out, nil
}
