// Package logs reads and writes the logs of distributed runs.
//
// # ShiViz and GoVector
//
// An event is a match of a regular expression with the named groups host, clock
// and event; further groups are variables, which the event assigns. The
// expression is given by Options, or is in the first line of the file, with
// the regular expression of the delimiter between several executions in the
// second (perhaps empty), as the ShiViz site wants it; or it is one of the two
// default layouts, which are recognized:
//
//	host {"host":2, "other":1}         event text
//	event text                         host {"host":2, "other":1}
//
// (the left one is GoVector's, the right one ShiViz's own). A group of the
// delimiter that is called trace names the execution that follows. As on the
// site, what no event is in is ignored; it is counted. Expressions are Go's (RE2)
// and are matched with the flag m; what ShiViz's JavaScript has beyond that,
// look-ahead and back references, is refused with a message.
//
// The text of an event assigns variables by name=value, where a value is a
// number, true, false, a word, a quoted string or JSON, and by a JSON object
// ({"role":"leader","term":3}; the members of an object within become role.x).
//
// # JSON lines
//
// Each line is a JSON object: an event
//
//	{"host":"p1","clock":{"p1":3,"p2":1},"event":"text","vars":{"x":3}}
//
// whose "event" and "vars" may be missing and whose clock may be an array in
// the order of a preceding "hosts"; null makes a variable undefined; a text
// assigns variables only by "vars". Or a declaration:
//
//	{"hosts":["p1","p2"]}                 the hosts, also those without events
//	{"init":{"p1":{"x":0},"p2":{"x":1}}}  values in the initial local states
//	{"trace":"name"}                      the execution of that name begins
//
// # Traces
//
// Recordings without vector clocks (OpenTelemetry, Jaeger, Go's execution
// traces) are read by package traces.
//
// # Speed
//
// The matches of the two default expressions, JSON clocks and the usual lines of
// JSON are scanned by hand: a regular expression and encoding/json take ten times
// as long, which matters at a million events. The tests hold the scanners against
// them. Everything else goes through regexp and encoding/json.
package logs
