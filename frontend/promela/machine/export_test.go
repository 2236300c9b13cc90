package machine

import "math/rand/v2"

// For the tests from outside of the package, which load models as a user does.
var (
	SpinModels, SpinFirst, SpinTime = spinModels, spinFirst, spinTime
	Keep                            = keep
)

// Generated writes a random model for one kind of check: safety, claim, acceptance, progress or
// ltl.
func Generated(seed uint64, kind string) string {
	g := &generator{r: rand.New(rand.NewPCG(seed, 7)), whole: seed%3 == 0, calm: kind != "safety" &&
		seed%2 == 0}
	text := g.model()
	switch kind {
	case "claim":
		text += g.claim()
	case "ltl":
		text += "ltl p { " + g.formula(3) + " }\n"
	}
	return text
}

// Small reports whether a search of a loaded model ends soon.
func Small(sys any) bool {
	_, failed, small := countSome(sys.(*System), false, 3000)
	return small || failed > 0
}
