// Package sibling finds the programs that are installed together: cpor, cpor-bench and cpor-mcp.
package sibling

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// apart is how much later a program may be built than another one with which it belongs.
const apart = time.Hour

const both = "build both anew: in a clone of cpor's repository, `go install ./cmd/...`"

// Path returns the file of the program with this name: beside this program, or else on the
// PATH. The error says how to install it, also if the Go tool has recorded another version in it
// than in this program: then it may have other flags. If the versions do not show that both are
// of the same build, and the program is much older than this one, doubt says so.
func Path(name string) (file, doubt string, err error) {
	if file, err = find(name); err != nil {
		return "", "", err
	}
	ours, theirs := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		ours = version(info)
	}
	if info, err := buildinfo.ReadFile(file); err == nil {
		theirs = version(info)
	}
	switch {
	case ours != "" && theirs != "" && ours != theirs:
		return "", "", fmt.Errorf("%s was built from %s, this program from %s; %s", file, theirs,
			ours, both)
	case ours != "" && ours == theirs && !strings.HasSuffix(ours, "+dirty"):
		return file, "", nil
	}
	return file, older(file), nil
}

// version returns from what a program was built, empty if that was not recorded.
func version(info *debug.BuildInfo) string {
	return strings.TrimPrefix(info.Main.Version, "(devel)")
}

// older says that a file is much older than this program; empty if it is not.
func older(file string) string {
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
