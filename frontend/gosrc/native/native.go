// Package native runs Go tests at native speed under our own scheduler: it compiles them with
// the ordinary toolchain and an overlay, and drives the process.
package native
