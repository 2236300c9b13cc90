// Package testcmd is the command `cpor test`, and `cpor run` of a main package of Go: which
// packages and tests, in which order, and what is printed. Package gotest explores a test.
//
// The text is that of go test, with --- INCOMPLETE, --- REFUSED and --- TIMING beside PASS, SKIP
// and FAIL; -json prints the events of test2json, with further fields.
package testcmd
