package detect

// Level is one of the paper's levels of optimization (section 7).
type Level struct {
	Name    string
	Options Options
}

// Levels are the four levels of optimization of section 7 on the whole
// computation and the whole predicate: no optimization, sleep sets only,
// persistent sets only, both.
var Levels = []Level{
	{"none", Options{Algorithm: PSPoss, Full: true, Whole: true, NoSequences: true,
		NoPersistent: true, NoSleep: true}},
	{"sleep", Options{Algorithm: PSPoss, Full: true, Whole: true, NoSequences: true,
		NoPersistent: true}},
	{"persistent", Options{Algorithm: PSPoss, Full: true, Whole: true, NoSequences: true,
		NoSleep: true}},
	{"both", Options{Algorithm: PSPoss, Full: true, Whole: true, NoSequences: true}},
}
