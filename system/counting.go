package system

// Counting is implemented by systems whose machines count what of the program they
// execute. There is a number of counters that only the system's front end can tell the
// meaning of; it is the same in every process that has loaded the same program, so that
// the counts of several processes can be added.
//
// A machine counts each step that is executed and not found blocked, whoever asks for it:
// a search, the replay of a trace. So what has a count was executed in some state that
// the program can reach. Whether what has none cannot be executed is for the engine to
// say ([engine.Preserved]).
type Counting interface {
	System
	// Executed returns the counts of all machines of the system, with what
	// AddExecuted was told. It must not be called while a machine is at work.
	Executed() []uint64
	// AddExecuted adds what another process has counted.
	AddExecuted(counts []uint64)
}
