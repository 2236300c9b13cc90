package syntax

import (
	"slices"

	"github.com/agext/levenshtein"
)

// Nearest returns ", did you mean NAME?" for the name that is most like s, or
// nothing if none is near.
func Nearest(s string, names []string) string {
	best, most := "", 0.6
	slices.Sort(names)
	for _, n := range names {
		if r := levenshtein.Similarity(s, n, nil); r > most {
			best, most = n, r
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

func nearUnit(s string, types map[string]bool) string {
	names := typeNames(types)
	for w := range unitWords {
		names = append(names, w)
	}
	return Nearest(s, names)
}

func nearType(s string, types map[string]bool) string { return Nearest(s, typeNames(types)) }

func typeNames(types map[string]bool) []string {
	var names []string
	for n := range basicTypes {
		names = append(names, n)
	}
	for n := range types {
		names = append(names, n)
	}
	return names
}
