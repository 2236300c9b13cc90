package machine

import (
	"encoding/binary"
	"slices"

	"cpor/frontend/model/compile"
	"cpor/frontend/model/flow"
	"cpor/system"
)

// maxFutures bounds how many local states a machine remembers the futures of.
const maxFutures = 1 << 15

// futures answers [system.Futures]. What a thread may do depends on its local
// state only, so the answers are kept.
type futures struct {
	analysis *flow.Analysis
	known    map[string]*system.Footprint
	key      []byte
	local    []uint64
}

// Future implements [system.Futures].
func (m *Machine) Future(t int) *system.Footprint {
	f := m.futures
	if f == nil {
		f = &futures{analysis: flow.New(m.p), known: map[string]*system.Footprint{}}
		m.futures = f
	}
	f.local = m.Local(t, f.local)
	f.key = binary.AppendUvarint(f.key[:0], uint64(t))
	if m.sys.dynamic {
		f.key = binary.AppendUvarint(f.key, uint64(m.n))
	} else {
		// The thread's type is not in its local part.
		f.key = binary.AppendUvarint(f.key, uint64(m.pc(t)))
	}
	for _, w := range f.local {
		f.key = binary.LittleEndian.AppendUint64(f.key, w)
	}
	if fp := f.known[string(f.key)]; fp != nil {
		return m.withMonitors(t, fp)
	}
	if len(f.known) >= maxFutures {
		clear(f.known)
	}
	fp := m.computeFuture(t)
	f.known[string(f.key)] = fp
	return m.withMonitors(t, fp)
}

// withMonitors adds the monitors that the thread is in, because it leaves them if it fails, even
// if its code does not reach the end of their blocks.
func (m *Machine) withMonitors(t int, fp *system.Footprint) *system.Footprint {
	for _, l := range m.sys.monitors {
		if m.sys.locs[l].load(m.words) != int64(t+1) || fp.MayWrite(l) &&
			fp.MayWrite(l+monitorDepth) {
			continue
		}
		writes := append(slices.Clone(fp.Writes), system.LocRange{First: l, Last: l + monitorDepth})
		fp = &system.Footprint{Reads: fp.Reads, Writes: system.JoinRanges(writes)}
	}
	return fp
}

func (m *Machine) computeFuture(t int) *system.Footprint {
	p := m.p
	pc := m.pc(t)
	if pc == 0 || pc > len(p.Points) || p.Points[pc-1].Ended {
		return &system.Footprint{}
	}
	w, sh := m.sys.slot(t)
	b := m.futures.analysis.From(pc-1, func(v *compile.Var) int64 {
		return fieldValue(m.words[w:], v.Field, sh)
	})
	reads, writes := b.Ranges(p)
	perThread := func(t, k int) system.LocRange {
		return system.LocRange{First: p.Loc(t, k), Last: p.Loc(t, k)}
	}
	threads := m.n
	if b.Creates || b.Peeks && m.sys.dynamic {
		threads = m.sys.maxThreads
	}
	if m.sys.dynamic {
		reads = append(reads, perThread(t, 0))
	}
	if b.Creates {
		count := system.LocRange{First: p.CountLoc(), Last: p.CountLoc()}
		created := system.LocRange{First: p.Loc(m.n, 0), Last: p.Loc(threads, 0) - 1}
		reads = append(reads, count, created)
		writes = append(writes, count, created)
	}
	if b.Waits(p) {
		// A thread that parks is found by threads that are created later.
		for u := range m.sys.maxThreads {
			reads, writes = append(reads, perThread(u, 1)), append(writes, perThread(u, 1))
		}
	}
	if p.Observed || p.Place > 0 {
		own := system.LocRange{First: p.Loc(t, 2), Last: p.Loc(t+1, 0) - 1}
		if own.First <= own.Last {
			writes = append(writes, own)
		}
	}
	if b.Peeks {
		reads = append(reads, system.LocRange{First: p.CountLoc(), Last: p.Loc(threads, 0) - 1})
	}
	if b.Asks {
		reads = append(reads, system.LocRange{First: 0, Last: p.Loc(m.sys.maxThreads, 0) - 1})
	}
	return &system.Footprint{Reads: system.JoinRanges(reads), Writes: system.JoinRanges(writes)}
}
