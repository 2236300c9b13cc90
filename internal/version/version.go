// Package version says which cpor this is.
package version

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/cespare/xxhash/v2"
)

// release is the version of a release, and commit and day those of its commit. make release sets
// them.
var release, commit, day string

// String returns the version of a release, or what the Go tool recorded in the binary: the
// module's version, or else the revision, with a + if files were changed.
func String() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown version)"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, _ := Commit()
	if revision == "" {
		return "(development)"
	}
	return revision
}

// Commit returns the revision that the binary was built from, shortened, with a + if files were
// changed, and its day; both are empty if they were not recorded.
func Commit() (revision, on string) {
	if commit != "" {
		return commit, day
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	modified := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.time":
			on = s.Value[:min(len("2006-01-02"), len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+"
			}
		}
	}
	if revision == "" {
		return "", ""
	}
	return revision + modified, on
}

// Build names this very program: what a search keeps means nothing to another one. It is not exact
// if the file of the program cannot be read.
func Build() (name string, exact bool) {
	file, err := os.Executable()
	if err != nil {
		return String(), false
	}
	f, err := os.Open(file)
	if err != nil {
		return String(), false
	}
	defer f.Close()
	h := xxhash.New()
	if _, err := io.Copy(h, f); err != nil {
		return String(), false
	}
	return fmt.Sprintf("%s (%016x)", String(), h.Sum64()), true
}
