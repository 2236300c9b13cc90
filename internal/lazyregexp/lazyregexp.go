// Package lazyregexp compiles regular expressions of package variables when they are first used,
// so that no command pays at its start for those of the others.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns the compiled expression. It panics if there is a mistake in
// the expression.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
