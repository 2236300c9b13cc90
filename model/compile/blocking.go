package compile

import "cpor/system"

// blocking tells how a segment of these instructions may block.
func (p *Program) blocking(code []int) system.Blocking {
	data := false
	how := system.Nonblocking
	for _, at := range code {
		switch p.Code[at].Op {
		case OpLoad, OpStore, OpCas, OpPeek:
			data = true
		case OpEnter:
			how = max(how, system.BlocksEntering)
		case OpBlock, OpLock, OpWake, OpDown, OpSelect:
			how = max(how, system.BlocksOnObject)
		}
	}
	// Whether a guard or the access before it read the data makes no
	// difference: a transition that blocks has no effect but its reads.
	if data && how != system.Nonblocking {
		how = system.BlocksOnGuard
	}
	return how
}
