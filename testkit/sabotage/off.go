//go:build !sabotage

package sabotage

// On tells whether this build can be sabotaged.
const On = false

// Is tells whether a sabotage is on.
func Is(string) bool { return false }
