package native

import (
	"os"
	"path"
	"slices"
)

// Tamper makes f change the files of the overlay until the function that it returns is called.
func Tamper(f func(name string, text []byte) []byte) (undo func()) {
	tamper = f
	return func() { tamper = nil }
}

// Kill ends the operating system's process of a process.
func Kill(p Process) error { return p.(*process).cmd.Process.Signal(os.Kill) }

// Changed returns the packages that the overlay changes.
func Changed() (out []string) {
	for _, r := range rules {
		out = append(out, path.Dir(r.file))
	}
	for _, a := range added {
		out = append(out, path.Dir(a[0]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
