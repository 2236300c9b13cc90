// Package simulate makes computations: of the two protocols of the paper's
// section 7 (Stoller, Unnikrishnan and Liu 2000), and random ones for tests.
//
// DatabasePartition and PrimarySecondary run a discrete-event simulation with
// the paper's delays: message latencies and other delays are drawn from
// 1 + exp(1), and a run ends when some process has executed S-1 events. The
// paper describes the protocols in a paragraph each and leaves much open; what
// was chosen here stands with each simulator, and the counts are compared with
// the paper's, not made to agree with them. Equal parameters and seeds give
// equal computations.
package simulate
