package stateless

import (
	"cpor/internal/human"
	"unsafe"
)

// firstCheck is the length of an execution at which the search first checks whether the
// execution could run forever. The length doubles each time, so checking costs no more than
// executing.
const firstCheck = 1 << 10

// checkEndless looks for a state that occurs twice on the path, because then the search would
// never end, and for a path that is too long. It returns false if it ended the search.
func (w *worker) checkEndless() bool {
	if w.e.bound > 0 {
		w.nextCheck = w.e.bound
		return true
	}
	if w.path.len() >= DefaultMaxDepth {
		w.e.stop(stopped("an execution has more than %s transitions, and a stateless search "+
			"cannot tell whether it ever ends; bound its length (-max-depth)",
			human.Count(DefaultMaxDepth)))
		return false
	}
	w.nextCheck = 2 * w.path.len()
	m := w.e.sys.NewMachine()
	m.Load(w.r.initial)
	seen := map[string]int{}
	for i := 0; ; i++ {
		if w.tree.stopped.Load() {
			return true // large states take long
		}
		w.buf = m.Encode(w.buf)
		key := unsafe.String((*byte)(unsafe.Pointer(unsafe.SliceData(w.buf))), 8*len(w.buf))
		if first, ok := seen[key]; ok {
			w.e.stop(stopped("the system is cyclic: the state after %d transitions recurs "+
				"after %d, so a stateless search never ends; bound the length of executions "+
				"(-max-depth, or -deepen), or search with stored states",
				first, i))
			return false
		}
		seen[string([]byte(key))] = i
		if i == len(w.r.steps) {
			return true
		}
		m.Step(w.r.steps[i].Thread, w.r.steps[i].Alt)
	}
}
