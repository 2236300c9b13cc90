// Package sibling finds the programs that are installed together: cpor, cpor-bench and cpor-mcp.
package sibling

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Path returns the file of the program with this name: beside this program, or else on the
// PATH. The error says how to install it.
func Path(name string) (string, error) {
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
