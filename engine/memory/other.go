//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package memory

// Peak returns the present resident set, in bytes: this operating system's
// peak cannot be asked through package syscall.
func Peak() uint64 { return Resident() }
