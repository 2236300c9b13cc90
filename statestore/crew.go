package statestore

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"cpor/internal/probe"
)

// crew is the workers of a store while one of them, the leader, learns a shape. The others cannot
// insert new states of this length meanwhile, so they help.
type crew struct{ job atomic.Pointer[job] }

// job is tasks of a crew, which can be done in any order.
type job struct {
	do         func(x *treeSession, task int)
	tasks      int32
	next, done atomic.Int32
}

// all does a number of tasks, with whoever helps. It returns when all of them are done.
func (c *crew) all(x *treeSession, tasks int, do func(x *treeSession, task int)) {
	j := &job{do: do, tasks: int32(tasks)}
	probe.Mark(probe.Covering) // what came before was the leader's work alone
	probe.Write(probe.Tasks, unsafe.Pointer(c))
	c.job.Store(j)
	for j.work(x) {
	}
	for j.done.Load() < j.tasks {
		probe.Pause()
		runtime.Gosched()
	}
	c.job.Store(nil)
}

// work does a task; false if none is left.
func (j *job) work(x *treeSession) bool {
	probe.Read(probe.Tasks, unsafe.Pointer(j))
	if j.next.Load() >= j.tasks {
		return false
	}
	probe.Write(probe.Tasks, unsafe.Pointer(j))
	task := j.next.Add(1) - 1
	if task >= j.tasks {
		return false
	}
	defer j.done.Add(1) // also if it panics: the leader waits
	j.do(x, int(task))
	return true
}

// help does tasks until the leader of a crew has learned the shape, or has failed.
func (x *treeSession) help(sh *shape, c *crew) {
	probe.Pause()
	for sh.crew.Load() == c {
		probe.Read(probe.Tasks, unsafe.Pointer(c))
		if j := c.job.Load(); j == nil || !j.work(x) {
			probe.Pause()
			runtime.Gosched()
		}
	}
}
