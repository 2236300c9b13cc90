// Package statestore holds the two shared data structures of a parallel
// stateful search: the covered set, a [Store], and the work set, a [WorkSet].
// Both belong to Gueta, Flanagan, Yahav, Sagiv (SPIN 2007), figure 6.
package statestore
