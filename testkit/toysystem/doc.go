// Package toysystem is a small concurrent system that is written down as Go
// data: threads whose code is a list of guarded commands over shared cells and
// registers. It implements [system.System] in full (undo log, access tracking,
// incremental hash, pieces), in memory, and so lets explorers and reductions
// be tested without the model language; a fault in the one cannot hide a fault
// in the other.
//
// A thread's code is a list of [Node]s, its control points. The next
// transition of a thread is the node that its program counter names: one or
// more [Case]s, each a guard and a body. A case without a guard is always
// enabled. The enabled cases are the transition's alternatives; with none
// enabled the thread is blocked, and the self-loop reads what the guards read.
// A body is executed at once, so whether a node is one shared access or an
// atomic group is the program's choice. Local computation is in the body
// after the access that it follows. Behind its last node a thread has ended.
//
//	p := toysystem.NewProgram()
//	x := p.Scalar("x", 0)
//	p.Thread("Producer", 0,
//		toysystem.Atomic(toysystem.Store(x, nil, toysystem.Const(1))))
//	p.Thread("Consumer", 1,
//		toysystem.Await(toysystem.Load(x, nil)),
//		toysystem.Atomic(toysystem.Set(0, toysystem.Load(x, nil))))
//	p.Start("Producer")
//	p.Start("Consumer")
//	sys, err := toysystem.New(p)
//
// [Random] makes programs for the oracle tests of reductions: every construct
// is in the mix, and equal seeds give equal programs. [Program.String] prints
// one, which is what a failing test shows.
//
// [Heap] is a second kind of program, whose threads allocate objects and create
// threads, and drop them again; [RandomHeap] makes such programs.
//
// It is not fast: states have a word for every cell and register, and code is
// walked as a tree. No step allocates, however, so that the allocations of an
// explorer can be measured on it.
package toysystem
