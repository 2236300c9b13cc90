// Package buchi translates formulas of linear temporal logic to Büchi automata.
package buchi
