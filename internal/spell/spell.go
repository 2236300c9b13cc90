// Package spell finds the name that a misspelled one may have been meant for.
package spell

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// maxName bounds the names that are compared: the comparison is quadratic.
const maxName = 60

// Nearest returns the candidate that a name may have been meant for, or "". Case
// does not count; two letters that have changed places are one mistake. Of
// candidates that are equally near the first in the alphabet is taken.
func Nearest(name string, candidates []string) string {
	if len(name) > maxName {
		return ""
	}
	best, at := max(2, len(name)/3)+1, ""
	if len(name) < 4 {
		best = 2
	}
	low := strings.ToLower(name)
	for _, s := range candidates {
		if s == name || len(s) > maxName {
			continue
		}
		cand := strings.ToLower(s)
		d := levenshtein.Distance(low, cand, nil)
		if d == 2 && sorted(low) == sorted(cand) {
			d = 1
		}
		if d < len(name) && (d < best || d == best && at > s && at != "") {
			best, at = d, s
		}
	}
	return at
}

// sorted returns the letters of a name in order.
func sorted(s string) string {
	r := []rune(s)
	slices.Sort(r)
	return string(r)
}

// DidYouMean returns "; did you mean X?" for the candidate next to a name, with
// a prefix before it, or "" if none is near.
func DidYouMean(name string, candidates []string, prefix string) string {
	s := Nearest(name, candidates)
	if s == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, s)
}
