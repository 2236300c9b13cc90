package sibling

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"
)

func TestPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if _, _, err := Path("cpor-other"); err == nil || !strings.Contains(err.Error(), "go install") {
		t.Errorf("a program that is not there: %v", err)
	}
	file := filepath.Join(dir, "cpor-other.exe")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, doubt, err := Path("cpor-other.exe"); err != nil || doubt != "" || got != file {
		t.Errorf("on the PATH: %s, %q, %v, want %s", got, doubt, err, file)
	}
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	if _, doubt, _ := Path("cpor-other.exe"); !strings.Contains(doubt, "older than this program") {
		t.Errorf("an old program: %q", doubt)
	}
}

// anotherBuild builds an old front.exe and a new program that looks for it: of one commit, of
// another one, and of a changed tree.
const anotherBuild = `set -e
commit() { git add . && git -c user.name=x -c user.email=x commit -q -m x --allow-empty; }
build() { go build -buildvcs=true -o $1.exe; }
front() { build front && touch -t 200001010000 front.exe; }
other() { build other && ./other.exe; }
git init -q && commit
front && other
commit && other
echo >> main.go && front && other`

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
	for name, text := range map[string]string{
		".gitignore": "*.exe\n",
		"go.mod":     "module front\n\ngo 1.26\n",
		"main.go": `package main

import "fmt"

func main() {
	_, doubt, err := Path("front.exe")
	fmt.Printf("%q %v\n", doubt, err)
}
`,
		"sibling.go": strings.Replace(string(source), "package sibling", "package main", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("sh", "-c", anotherBuild)
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_SYSTEM=/dev/null")
	out, err := c.CombinedOutput()
	const want = `^"" <nil>
"" .* was built from v0.*, this program from v0.*
".*is older than this program.*" <nil>
$`
	if err != nil || !regexp.MustCompile(want).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}
