//go:build !sabotage

package sabotage

// On reports whether this build can be sabotaged.
const On = false

// Is reports whether a sabotage is on.
func Is(string) bool { return false }
