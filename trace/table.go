package trace

// TableOptions say how a record is printed. The zero value prints all steps,
// 80 columns wide.
type TableOptions struct {
	// Width is the number of columns of the page; 0 means 80, and less than
	// 40 means 40.
	Width int
	// Color paints the names of threads, what a step changed, and the last step of a violation.
	Color bool
	// MaxSteps is the largest number of steps to print: from a longer trace
	// the first and the last ones. 0 means all.
	MaxSteps int
	// MaxThreads is the largest number of threads to list at the end; 0
	// means all.
	MaxThreads int
	// OmitViolation leaves the line about the violation out, for callers that
	// print it themselves.
	OmitViolation bool
}
