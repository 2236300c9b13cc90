//go:build !linux

package native

import "os/exec"

// ownGroup does nothing: Build refuses platforms other than Linux.
func ownGroup(*exec.Cmd) {}

// killGroup kills a started command.
func killGroup(c *exec.Cmd) { c.Process.Kill() }
