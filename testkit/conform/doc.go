// Package conform is for tests. It computes the outcomes of Go programs in the machine, with any
// engine, to compare them with what is known about the programs from elsewhere.
//
// [Load] compiles many programs at once. [Program.Outcomes] runs an engine on one of them through a
// wrapper that looks at every state the engine reaches, and records the outcome where no goroutine
// can run any more.
package conform
