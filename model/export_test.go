package model

import "slices"

// Samples sets how much is tried to learn bounds, and returns a function that takes it back.
func Samples(breadth, length, depth int) (restore func()) {
	old := samples
	samples.breadth, samples.length, samples.depth = breadth, length, depth
	return func() { samples = old }
}

// Forget forgets the bounds that were learned.
func (s *System) Forget() { s.knowledge.latest, s.knowledge.seed = nil, 0 }

// Voided returns how many searches were void since.
func (s *System) Voided() uint64 { return s.knowledge.seed }

// Beyond reports whether the model, of up to 1e5 states, does anything beyond the bounds that are
// known. Searches for temporal properties leave observers out, and others leave propositions out.
func (s *System) Beyond(temporal bool) bool {
	defer Samples(1e5, 0, 0)()
	m, k, all := s.made, &s.knowledge, newBounds(s.made)
	if k.latest == nil {
		return false
	}
	s.learn(all, 0)
	for kind := range all.did {
		for place, did := range all.did[kind] {
			if place >= m.observersFrom && (place >= m.firstProp()) != temporal {
				continue
			}
			if slices.Clone(k.latest.did[kind][place]).join(did) {
				return true
			}
		}
	}
	return false
}
