// Command release builds what make release puts into dist: for each platform an archive with the
// programs, the manual page and completions, for Linux a Debian package as well, a formula for
// Homebrew, and the checksums of all. The same tree and the same Go make the same bytes.
//
//	go run ./internal/release -version v1.2.0 -out dist linux/amd64 darwin/arm64
//
// It writes the archives itself, with the standard library: release tools also publish, which
// is not wanted here, and need some hundred packages for that.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// programs are the commands of a release.
var programs = []string{"cpor", "cpor-bench", "cpor-mcp"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what is built.
type release struct {
	version string // as in the names of files
	url     string // where the archives will be
	out     string // the folder
	date    time.Time
	files   []string // that were written, without the folder
	sums    map[string]string
	built   map[string][]file // by platform
}

func run(ctx context.Context, args []string) error {
	r := &release{sums: map[string]string{}, built: map[string][]file{}}
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	f.StringVar(&r.version, "version", "", "the `version`")
	f.StringVar(&r.url, "url", "", "where the archives will be, for the formula: a `URL` "+
		"(default: the folder)")
	f.StringVar(&r.out, "out", "dist", "the `folder` to write to")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := r.check(f.Args()); err != nil {
		return err
	}
	var err error
	if r.date, err = date(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o777); err != nil {
		return err
	}
	if r.url == "" {
		abs, err := filepath.Abs(r.out)
		if err != nil {
			return err
		}
		r.url = "file://" + filepath.ToSlash(abs)
	}
	work, err := os.MkdirTemp("", "cpor-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	common, err := r.common(ctx, work)
	if err != nil {
		return err
	}
	for _, p := range f.Args() {
		goos, arch, _ := strings.Cut(p, "/")
		built, err := r.build(ctx, work, goos, arch)
		if err != nil {
			return err
		}
		if err := r.pack(goos, arch, slices.Concat(built, common)); err != nil {
			return err
		}
	}
	return r.finish()
}

// check refuses what would make wrong names.
func (r *release) check(platforms []string) error {
	switch {
	case r.version == "" || strings.ContainsAny(r.version, "/ \t\n"):
		return fmt.Errorf("-version %q: want a name without slashes and spaces", r.version)
	case len(platforms) == 0:
		return errors.New("no platform, such as linux/amd64")
	}
	for _, p := range platforms {
		if goos, arch, ok := strings.Cut(p, "/"); !ok || goos == "" || arch == "" {
			return fmt.Errorf("%s is not a platform, such as linux/amd64", p)
		}
	}
	return nil
}

// date returns the time that all files get: SOURCE_DATE_EPOCH, that of the commit, or 1980, where
// zip begins to count.
func date(ctx context.Context) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "log", "-1", "--format=%ct").Output()
		if err == nil {
			text = strings.TrimSpace(string(out))
		}
	}
	if text == "" {
		return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// build compiles the programs for a platform.
func (r *release) build(ctx context.Context, work, goos, arch string) (files []file, err error) {
	platform := goos + "/" + arch
	if files := r.built[platform]; files != nil {
		return files, nil
	}
	module, err := output(ctx, nil, "go", "list", "-m")
	if err != nil {
		return nil, err
	}
	set := " -X " + strings.TrimSpace(string(module)) + "/internal/version."
	flags := "-s -w" + set + "release=" + r.version
	// The go command records the commit only where it can, and not in a worktree.
	commit, err := output(ctx, nil, "git", "describe", "--always", "--exclude=*", "--abbrev=12",
		"--dirty=+")
	if err == nil {
		flags += set + "commit=" + strings.TrimSpace(string(commit)) + set + "day=" +
			r.date.Format(time.DateOnly)
	}
	dir := filepath.Join(work, goos+"-"+arch)
	for _, p := range programs {
		name := p
		if goos == "windows" {
			name += ".exe"
		}
		fmt.Printf("compiling %s for %s\n", p, platform)
		to := filepath.Join(dir, name)
		if _, err := output(ctx, []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + arch}, "go",
			"build", "-trimpath", "-buildvcs=auto", "-ldflags", flags, "-o", to,
			"./cmd/"+p); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(to)
		if err != nil {
			return nil, err
		}
		files = append(files, file{program: true, name: name, text: text})
	}
	r.built[platform] = files
	return files, nil
}

// common returns the files that are the same on all platforms. The programs of this one write
// some of them.
func (r *release) common(ctx context.Context, work string) ([]file, error) {
	if _, err := r.build(ctx, work, runtime.GOOS, runtime.GOARCH); err != nil {
		return nil, err
	}
	cpor := filepath.Join(work, runtime.GOOS+"-"+runtime.GOARCH, "cpor")
	var files []file
	for name, args := range map[string][]string{
		"cpor.1": {"man"}, "completions/cpor.bash": {"completion", "bash"},
		"completions/_cpor": {"completion", "zsh"}, "completions/cpor.fish": {"completion", "fish"},
	} {
		text, err := output(ctx, []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(),
			10)}, cpor, args...)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, text: text})
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, text: text})
	}
	return files, nil
}

// output runs a program, with further variables in its environment.
func output(ctx context.Context, env []string, program string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", c, err, stderr.Bytes())
	}
	return out, err
}
