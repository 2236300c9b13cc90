package system

// Telling is implemented by machines that can tell people what a step did, where
// that says more than what [Machine.Next] said before: which alternative was
// taken, and all statements of a transition that has several.
type Telling interface {
	Machine

	// Told returns the place and the text of what the last Step did. Tracking
	// must have been on.
	Told() (pos Pos, text string)
}
