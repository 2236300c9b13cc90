// Package toysystem is a small concurrent system whose programs are Go data: threads whose code is
// a list of guarded commands over shared cells and registers. It implements [system.System] in full
// (undo log, access tracking, incremental hash, pieces). So explorers and reductions can be tested
// without the model language, and a fault in one cannot hide a fault in the other.
//
// A thread's code is a list of [Node]s, its control points. The next transition of a thread is the
// node at its program counter: one or more [Case]s, each a guard and a body. A case without a guard
// is always enabled. The enabled cases are the transition's alternatives. If none is enabled, the
// thread is blocked, and the self-loop reads what the guards read. A body is executed at once, so
// the program chooses whether a node is one shared access or an atomic group. Local computation is
// in the body after the access that it follows. After its last node a thread has ended.
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
// [Random] makes programs for the oracle tests of reductions: they mix all constructs, and equal
// seeds give equal programs. [Program.String] prints one, as a failing test does.
//
// [Heap] is a second kind of program, whose threads create and drop objects and threads;
// [RandomHeap] makes such programs.
//
// It is not fast: states have a word for every cell and register, and code is walked as a tree. But
// no step allocates, so the allocations of an explorer can be measured on it.
package toysystem
