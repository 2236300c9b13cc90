// Package conform is for tests: it finds out the outcomes of Go programs in the
// machine, with any engine, so that they can be compared with what is known of
// the programs otherwise.
//
// [Load] compiles many programs at once. [Program.Outcomes] runs an engine on one of
// them through a wrapper that looks at every state the engine comes to: where
// nobody can run any more, the outcome of that execution is noted.
package conform
