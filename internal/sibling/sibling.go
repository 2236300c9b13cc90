// Package sibling finds the programs that are installed together: cpor, cpor-bench and cpor-mcp.
package sibling

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"
)

// Path returns the file of the program with this name: beside this program, or else on the
// PATH. The error says how to install it, also if the Go tool has recorded another version or
// revision in it than in this program: then it may have other flags.
func Path(name string) (string, error) {
	file, err := find(name)
	if err != nil {
		return "", err
	}
	theirs, err := buildinfo.ReadFile(file)
	ours, ok := debug.ReadBuildInfo()
	if err != nil || !ok {
		return file, nil
	}
	if a, b := revision(ours), revision(theirs); a != "" && b != "" && a != b {
		return "", fmt.Errorf("%s was built from %s, this program from %s; %s", file, b, a, both)
	}
	return file, nil
}

const both = "build both anew: in a clone of cpor's repository, `go install ./cmd/...`"

// revision returns from what a program was built, empty if that was not recorded.
func revision(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	recorded := map[string]string{}
	for _, s := range info.Settings {
		recorded[s.Key] = s.Value
	}
	if r := recorded["vcs.revision"]; r == "" || recorded["vcs.modified"] != "true" {
		return r
	}
	return recorded["vcs.revision"] + "+"
}

// apart is how much later a program may be built than another one with which it belongs.
const apart = time.Hour

// Doubt says why a program that Path has found may be of another build although their revisions do
// not differ, as where files were changed or nothing is recorded: this one is much younger. It is
// empty if nothing speaks for that.
func Doubt(file string) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	ours, err := os.Stat(self)
	if err != nil {
		return ""
	}
	theirs, err := os.Stat(file)
	if err != nil || ours.ModTime().Sub(theirs.ModTime()) < apart {
		return ""
	}
	return fmt.Sprintf("%s is older than this program: if a flag is missing, %s", file, both)
}

// find finds the file.
func find(name string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if file, err := exec.LookPath(filepath.Join(filepath.Dir(self), name)); err == nil {
			return file, nil
		}
	}
	file, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("the program %s is not installed: in a clone of cpor's repository, "+
			"`go install ./cmd/...` installs it", name)
	}
	return filepath.Abs(file)
}
