package ltl

// Build makes a formula of an operator and its operands, for the tests, which stand outside of the
// package: the parser that they read formulas with imports it.
var Build = build
