package syntax

import (
	"maps"
	"slices"

	"cpor/internal/spell"
)

func nearUnit(s string, types map[string]bool) string {
	return spell.DidYouMean(s, slices.Concat(typeNames(types),
		slices.Collect(maps.Keys(unitWords))), "")
}

func nearType(s string, types map[string]bool) string {
	return spell.DidYouMean(s, typeNames(types), "")
}

func typeNames(types map[string]bool) []string {
	return slices.Concat(slices.Collect(maps.Keys(basicTypes)), slices.Collect(maps.Keys(types)))
}
