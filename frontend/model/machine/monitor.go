package machine

import (
	"math/bits"

	"cpor/frontend/model/compile"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// A monitor has Java's semantics and three locations: its owner, how often that thread has
// entered it, and who waits. Entering it again, and leaving it except the last time, touch only
// the depth, which no other thread touches.
const (
	monitorDepth   = 1
	monitorWaiters = 2

	maxDepth     = 255
	maxWaiters   = 64
	maxSemaphore = 65535

	rwReaders  = 1 // the location behind that of the writer
	maxReaders = 1023
	maxGroup   = 65535
)

// monitor executes an operation on a monitor, a semaphore, a rwmutex, a waitgroup or a
// condition, and tries a mutex.
func (m *Machine) monitor(in *compile.Instr, regs []int64) (status, int) {
	l := int(regs[in.B])
	self := int64(m.thread + 1)
	name := m.p.Locs[l].Name
	switch in.Op {
	case compile.OpUp:
		n := m.value(l)
		if n == maxSemaphore {
			m.read(l)
			return m.fault(in, "up of %s, which is at its maximum of %d", name, maxSemaphore)
		}
		m.bump(l, n, 1, 0, maxSemaphore)
		m.syncs.add(system.Release, l)
		if m.story.on {
			m.act("up %s (now %d)", name, n+1)
		}
		return reached, 0
	case compile.OpDown:
		n := m.value(l)
		if n == 0 {
			m.read(l)
			m.waitsFor(l)
			return blocked, 0
		}
		m.bump(l, n, -1, 0, maxSemaphore)
		if m.story.on {
			m.act("down %s (now %d)", name, n-1)
		}
		m.syncs.add(system.Acquire, l)
		if sabotage.Is("order/down") {
			m.syncs.add(system.Release, l)
		}
		return reached, 0
	case compile.OpWLock:
		// Both are always read, so that whatever enables it conflicts.
		if w, r := m.read(l), m.read(l+rwReaders); w != 0 || r != 0 {
			m.waitsFor(l)
			return blocked, 0
		}
		m.write(l, self)
		m.syncs.add(system.Acquire, l)
		m.syncs.add(system.Acquire, l+rwReaders)
		m.tell("lock ", l)
		return reached, 0
	case compile.OpWUnlock:
		switch owner := m.read(l); {
		case owner == 0:
			return m.fault(in, "unlock of %s, which is not locked for writing", name)
		case owner != self:
			return m.fault(in, "unlock of %s, which %s holds", name, m.holder(int(owner-1)))
		}
		m.write(l, 0)
		m.syncs.add(system.Release, l)
		m.tell("unlock ", l)
		return reached, 0
	case compile.OpRLock:
		if m.read(l) != 0 && !sabotage.Is("sync/readers") {
			m.waitsFor(l)
			return blocked, 0
		}
		n := m.read(l + rwReaders)
		if n == maxReaders {
			return m.fault(in, "rlock of %s, which has %d readers, as many as there can be", name,
				maxReaders)
		}
		m.write(l+rwReaders, n+1)
		m.syncs.add(system.Acquire, l)
		if m.story.on {
			m.act("rlock %s (%d reading)", name, n+1)
		}
		return reached, 0
	case compile.OpRUnlock:
		n := m.read(l + rwReaders)
		if n == 0 {
			return m.fault(in, "runlock of %s, which no thread has locked for reading", name)
		}
		m.write(l+rwReaders, n-1)
		m.syncs.add(system.Release, l+rwReaders)
		if m.story.on {
			m.act("runlock %s (%d reading)", name, n-1)
		}
		return reached, 0
	case compile.OpTryLock, compile.OpTryWLock, compile.OpTryRLock:
		return m.tryLock(in, l, regs)
	case compile.OpCondWait:
		if m.thread >= maxWaiters {
			return m.fault(in, "only the first %d threads can wait for a condition", maxWaiters)
		}
		m.write(l, m.read(l)|1<<m.thread)
		m.tell("wait for a signal on ", l)
		return reached, 0
	case compile.OpCondWoken:
		if uint64(m.read(l))>>m.thread&1 != 0 && !sabotage.Is("sync/spurious") {
			m.waitsFor(l)
			return blocked, 0
		}
		m.tell("was signaled on ", l)
		return reached, 0
	case compile.OpSignal:
		waiters := uint64(m.read(l))
		woken, ok := m.wake(in, waiters)
		if !ok {
			return m.fault(in, "too many alternatives in one transition")
		}
		if woken != 0 {
			m.write(l, int64(waiters&^woken))
		}
		for set := woken; set != 0; set &= set - 1 {
			// This signal orders what the woken threads do next, so it is attributed to them,
			// not to the condition.
			m.syncs.thread(system.Wake, bits.TrailingZeros64(set))
		}
		if m.story.on {
			verb := "signal"
			if in.C == 1 {
				verb = "broadcast to"
			}
			m.tellNotified(verb, name, woken)
		}
		return reached, 0
	case compile.OpGroupAdd:
		old := m.value(l)
		n := old + regs[in.C]
		if n < 0 || n > maxGroup {
			m.read(l)
			return m.fault(in, "the counter of %s is %d, and %d is added: it is from 0 to %d", name,
				n-regs[in.C], regs[in.C], maxGroup)
		}
		m.bump(l, old, regs[in.C], 0, maxGroup)
		m.syncs.add(system.Release, l)
		if m.story.on {
			m.act("add %d to %s (now %d)", regs[in.C], name, n)
		}
		return reached, 0
	case compile.OpGroupWait:
		if n := m.value(l); n != 0 && !(sabotage.Is("sync/group") && n == 1) {
			m.operate(l, false, system.Addition(-1), n-1) // blocked as long as others leave one
			m.waitsFor(l)
			return blocked, 0
		}
		m.read(l)
		m.syncs.add(system.Acquire, l)
		if m.story.on {
			m.act("%s is at 0", name)
		}
		return reached, 0
	case compile.OpEnter:
		switch m.read(l) {
		case 0:
			m.write(l, self)
			m.write(l+monitorDepth, 1)
			m.syncs.add(system.Acquire, l)
			m.tell("enter ", l)
		case self:
			d := m.read(l + monitorDepth)
			if d == maxDepth {
				return m.fault(in, "%s is entered more than %d times", name, maxDepth)
			}
			if !sabotage.Is("sync/reenter") {
				m.write(l+monitorDepth, d+1)
			}
			if m.story.on {
				m.act("enter %s again (%d deep)", name, d+1)
			}
		default:
			m.waitsFor(l)
			return blocked, 0
		}
		return reached, 0
	case compile.OpWake:
		if !sabotage.Is("sync/wake") && uint64(m.read(l+monitorWaiters))>>m.thread&1 != 0 ||
			m.read(l) != 0 {
			m.waitsFor(l)
			return blocked, 0
		}
		m.write(l, self)
		m.write(l+monitorDepth, regs[in.C])
		m.syncs.add(system.Acquire, l)
		m.tell("has been notified, enter ", l)
		return reached, 0
	}
	if m.read(l) != self {
		what := map[compile.Op]string{compile.OpExit: "leaving", compile.OpWait: "wait",
			compile.OpNotify: "notify"}[in.Op]
		return m.fault(in, "illegal monitor state: %s on %s by a thread that is not in it", what,
			name)
	}
	switch in.Op {
	case compile.OpExit:
		d := m.read(l+monitorDepth) - 1
		m.write(l+monitorDepth, d)
		m.tell("leave ", l)
		if d == 0 {
			m.write(l, 0)
			m.syncs.add(system.Release, l)
		}
	case compile.OpWait:
		if m.thread >= maxWaiters {
			return m.fault(in, "only the first %d threads can wait at a monitor", maxWaiters)
		}
		regs[in.A] = m.read(l + monitorDepth)
		m.write(l+monitorDepth, 0)
		m.write(l, 0)
		m.write(l+monitorWaiters, m.read(l+monitorWaiters)|1<<m.thread)
		m.syncs.add(system.Release, l)
		m.tell("leave and wait for a notification of ", l)
	case compile.OpNotify:
		waiters := uint64(m.read(l + monitorWaiters))
		woken, ok := m.wake(in, waiters)
		if !ok {
			return m.fault(in, "too many alternatives in one transition")
		}
		if woken != 0 {
			m.write(l+monitorWaiters, int64(waiters&^woken))
		}
		if m.story.on {
			m.tellNotified("notify", name, woken)
		}
	}
	return reached, 0
}

// wake returns which waiting threads an operation wakes: all of them if its C is 1, and
// otherwise a chosen one. ok is false if there are too many choices.
func (m *Machine) wake(in *compile.Instr, waiters uint64) (woken uint64, ok bool) {
	switch {
	case waiters == 0 || sabotage.Is("sync/lost wake-up") && waiters&(waiters-1) == 0:
		return 0, true
	case in.C == 1:
		return waiters, true
	}
	d, ok := m.choose(uint64(bits.OnesCount64(waiters)))
	if sabotage.Is("sync/notify first") {
		d = 0
	}
	for ; d > 0; d-- {
		waiters &= waiters - 1
	}
	return waiters & -waiters, ok
}

// tryLock locks a mutex or a rwmutex if that is possible at once. If not, its reads make it
// conflict with the thread that unlocks.
func (m *Machine) tryLock(in *compile.Instr, l int, regs []int64) (status, int) {
	free := m.read(l) == 0
	at, value := l, int64(m.thread+1)
	switch in.Op {
	case compile.OpTryWLock:
		free = m.read(l+rwReaders) == 0 && free
	case compile.OpTryRLock:
		at = l + rwReaders
		if free {
			value = m.read(at) + 1
		}
		if value > maxReaders {
			return m.fault(in, "tryrlock of %s, which has %d readers, as many as there can be",
				m.p.Locs[l].Name, maxReaders)
		}
	}
	free = free || sabotage.Is("sync/trylock")
	regs[in.A] = b2i(free)
	if !free {
		if m.story.on {
			m.waitsFor(l)
			m.act("the lock fails: %s", m.story.waits[len(m.story.waits)-1])
			m.story.waits = m.story.waits[:len(m.story.waits)-1]
		}
		return reached, 0
	}
	m.write(at, value)
	m.syncs.add(system.Acquire, l)
	if in.Op == compile.OpTryWLock {
		m.syncs.add(system.Acquire, l+rwReaders)
	}
	if in.Op == compile.OpTryRLock && m.story.on {
		m.act("rlock %s (%d reading)", m.p.Locs[l].Name, value)
	} else {
		m.tell("lock ", l)
	}
	return reached, 0
}

// leaveMonitors makes a failed thread leave its monitors, as an uncaught exception does in Java.
// (A mutex stays locked, as a Go mutex does when its goroutine dies.) The thread's local part
// determines which monitors these are, so reading the monitors is not an access.
func (m *Machine) leaveMonitors(t int) {
	for _, l := range m.sys.monitors {
		if m.ask != nil {
			if _, ok := m.asked[l]; !ok {
				m.asked[l] = m.ask(l)
				m.SetValue(l, m.asked[l])
			}
		}
		if m.sys.locs[l].load(m.words) != int64(t+1) {
			continue
		}
		m.write(int(l)+monitorDepth, 0)
		m.write(int(l), 0)
		m.syncs.add(system.Release, int(l))
	}
}
