//go:build sabotage

package sabotage

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// On reports whether this build can be sabotaged.
const On = true

var on atomic.Pointer[string]

// Is reports whether a sabotage is on.
func Is(name string) bool {
	p := on.Load()
	return p != nil && *p == name
}

// Now returns the sabotage that is on, or "".
func Now() string {
	if p := on.Load(); p != nil {
		return *p
	}
	return ""
}

// Set switches one sabotage on and all others off; "" switches all off.
func Set(name string) {
	known := name == ""
	for _, s := range slices.Concat(List, Bounds, Asking, Conform, Histories, Sampling, Temporal,
		Claims, Merging, Emitter, ModelEmitter) {
		known = known || s.Name == name
	}
	if !known {
		panic(fmt.Sprintf("there is no sabotage %q", name))
	}
	on.Store(&name)
}
