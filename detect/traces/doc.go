// Package traces reads recordings that have an order but no vector clocks, and
// computes these: traces of OpenTelemetry (OTLP as JSON) and Jaeger, and Go's
// execution traces.
//
// # Spans
//
// A host is a process that has spans: its service.name, with its
// service.instance.id, host.name or number behind an @ where several have the
// same name. Its events are the starts and the ends of its spans and what
// happened within them (OpenTelemetry's span events, Jaeger's logs), in the
// order of the process's own clock. A span starts after the start of its parent,
// and of the spans that it is linked to; times of different processes are not
// compared.
//
// Variables: the attributes of a span, or of an event in it, are assigned where
// it starts, or happens; "open" is the number of spans of the process that have
// started and not ended, "open.NAME" the same of the spans of that name. What
// is no letter, digit or dot in a name becomes an underscore.
//
// # Go's execution traces
//
// A host is a goroutine, g1, g2, ...; those of the run-time system are left out.
// Its events are what it does to others (it starts one, it unblocks one), that
// it begins, blocks, continues and ends, the regions that it enters and leaves, and
// what it logs with runtime/trace.Log. A goroutine begins after it was started,
// and continues after it was unblocked, whatever by: a channel, a lock, a
// condition, a wait group; and who unblocks one does it after that one blocked,
// for it found it waiting.
//
// Variables: a log with a category assigns its message to the variable of that name, and any log
// what name=value in its message says; "blocked" is the reason for which the goroutine waits, ""
// when it does not; "region.NAME" reports whether it is in that region.
//
// # What cannot be concluded
//
// Neither kind of recording has every dependency: a reply does not be in a
// span, nor does a lock that nobody waited for in an execution trace. What is
// missing makes more global states consistent than there were. So "not possible"
// and "definitely" hold for the run, but a state that is reported as possible
// may be one that a dependency without a record excluded. And in a process with
// several threads, whose events are put in the order of their times, some that
// had no order get one: there, only the process's own variables can be trusted.
//
// The formats are read by small structs and encoding/json: of OTLP's messages
// a dozen fields are needed, for which the protobuf library and its generated
// code would be a large dependency, and Jaeger's JSON has no library apart from
// Jaeger itself. Execution traces are read by golang.org/x/exp/trace.
package traces
