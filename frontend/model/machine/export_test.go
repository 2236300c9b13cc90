package machine

import "cpor/system"

// RecallAll makes machines of a system remember the steps of short segments, too. It
// returns how many points have such steps.
func RecallAll(sys system.System) (points int) {
	s := sys.(*System)
	s.simple = s.findSimple(0)
	for _, is := range s.simple {
		if is {
			points++
		}
	}
	return points
}

// Remembered returns how many steps a machine remembers now, and how large its table is.
func Remembered(m system.Machine) (steps, nodes int) {
	if e := m.(*Machine).effects; e != nil {
		return len(e.leaves), len(e.nodes)
	}
	return 0, 0
}
