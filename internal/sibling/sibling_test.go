package sibling

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"
)

func TestPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, err := Path("cpor-other"); err == nil || !strings.Contains(err.Error(), "go install") {
		t.Errorf("a program that is not there: %v", err)
	}
	file := filepath.Join(dir, "cpor-other.exe")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := Path("cpor-other.exe"); err != nil || got != file {
		t.Errorf("on the PATH: %s, %v, want %s", got, err, file)
	}
	if doubt := Doubt(file); doubt != "" {
		t.Errorf("a new program: %s", doubt)
	}
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if doubt := Doubt(file); !strings.Contains(doubt, "older than this program") {
		t.Errorf("an old program: %q", doubt)
	}
}

// TestPathOfAnotherBuild builds a program from two commits: each finds the program of its own, and
// refuses that of the other.
func TestPathOfAnotherBuild(t *testing.T) {
	sample.Skip(t)
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	source, err := os.ReadFile("sibling.go")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	do := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		if _, ok := err.(*exec.ExitError); err != nil && !ok {
			t.Fatal(err)
		}
		return string(out)
	}
	main := `package main

import "fmt"

func main() { fmt.Println(Path("front.exe")) }
`
	files := map[string]string{"go.mod": "module front\n\ngo 1.25\n", "main.go": main,
		"sibling.go": strings.Replace(string(source), "package sibling", "package main", 1)}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	commit := func() string {
		do("git", "add", ".")
		return do("git", "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x",
			"--allow-empty")
	}
	if out := do("git", "init", "-q") + commit(); out != "" {
		t.Fatal(out)
	}
	build := func(to string) {
		t.Helper()
		if out := do("go", "build", "-buildvcs=true", "-o", to); out != "" {
			t.Fatal(out)
		}
	}
	bin := t.TempDir()
	front, other := filepath.Join(bin, "front.exe"), filepath.Join(bin, "other.exe")
	build(front)
	one := do(front)
	commit()
	build(other)
	two := do(other)
	if !strings.Contains(one, "front.exe <nil>") || !strings.Contains(two, "was built from") {
		t.Errorf("of the same build: %sof another: %s", one, two)
	}
}

func TestRevision(t *testing.T) {
	for _, tt := range []struct {
		version, revision, modified, want string
	}{
		{"v1.2.3", "0123", "true", "v1.2.3"},
		{"(devel)", "0123", "false", "0123"},
		{"", "0123", "true", "0123+"},
		{"(devel)", "", "", ""},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: tt.version}, Settings: []debug.
			BuildSetting{{Key: "vcs.revision", Value: tt.revision},
			{Key: "vcs.modified", Value: tt.modified}}}
		if got := revision(info); got != tt.want {
			t.Error(fmt.Sprint(tt), got)
		}
	}
}
