//go:build !linux

package native

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: Build refuses platforms other than Linux.
func ownGroup(*exec.Cmd) {}

// killGroup kills a started command.
func killGroup(c *exec.Cmd) { c.Process.Kill() }

// pipe makes a pipe.
func pipe() (r, w *os.File, err error) { return os.Pipe() }

// hold does nothing.
func hold(*os.File) error { return nil }

// soon is a file.
type soon struct{ *os.File }
