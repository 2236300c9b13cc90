package system

// Learning is implemented by systems that know what their threads may still do ([Futures],
// [Temporal].Conflicts) from trying, because the code of a step is opaque. What was tried may not
// be all.
//
// For example, Go functions are the steps of package model. Its machines bound what a thread may do
// by what samples have shown, and compare each step with that while the search runs. If some step
// does more, the search is void and begins again with what is known then. Package model proves
// that a search in which no step did more is right.
type Learning interface {
	// Begin returns the system for one search that relies on bounds. Its machines have bounds, all
	// the same, and check each step against them. stop is called, perhaps several times, if one
	// does more, and the search may end then. With fixed, the bounds are the same in each process
	// that runs the same program, whatever other searches have learned.
	//
	// end is called after the search. It reports whether some step did more, so that the search
	// has not found out anything but violations.
	Begin(fixed bool, stop func()) (bounded System, end func() (void bool))
}
