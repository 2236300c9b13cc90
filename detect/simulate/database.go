package simulate

import (
	"fmt"
	"strings"

	"cpor/detect/computation"
)

// DatabasePartition simulates the paper's first example for n >= 2 processes
// and at most s local states of a process.
//
// A database is partitioned among processes 2 to n, while process 1 assigns
// tasks to them based on the current partition. A process i of 2..n suggests a
// new partition by setting chg to true and broadcasting it with a version
// number; a recipient accepts it if its own version is smaller, or equal but
// proposed by a process with a larger number.
//
// What the paper leaves open: a recipient acknowledges whether it accepted or
// not, and when all have, the proposer sets chg to false; then it waits for a
// delay before its next proposal. Process 1 assigns a task to the next process
// in turn after each delay. A broadcast is one event, and so is a receipt with
// its answer.
func DatabasePartition(n, s int, seed uint64) *computation.Computation {
	w := newNetwork(n, s, seed)
	type state struct{ version, proposer, acks int }
	procs := make([]state, n)
	partition := func(x *state) Assign {
		return Assign{"partn",
			computation.StringValue(fmt.Sprintf("%d.%d", x.version, x.proposer+1))}
	}
	chg := func(b bool) Assign { return Assign{"chg", computation.BoolValue(b)} }
	for i := range procs {
		w.rec.Init(i, partition(&procs[i]), chg(false))
	}
	var propose func(i int)
	propose = func(i int) {
		p := &procs[i]
		p.version, p.proposer, p.acks = p.version+1, i, 0
		version := p.version
		acknowledged := func(_ int, m Message) {
			if p.acks++; p.acks < n-1 {
				w.receive(i, m, "acknowledged", nil)
				return
			}
			w.receive(i, m, "acknowledged by all", nil, chg(false))
			w.after(func() { propose(i) })
		}
		proposed := func(j int, m Message) {
			q := &procs[j]
			if q.version < version || q.version == version && q.proposer > i {
				q.version, q.proposer = version, i
				w.receive(j, m, "accept", send(acknowledged, i), partition(q))
			} else {
				w.receive(j, m, "reject", send(acknowledged, i))
			}
		}
		w.event(i, "propose", send(proposed, others(n, i)...), chg(true), partition(p))
	}
	for i := 1; i < n; i++ {
		w.after(func() { propose(i) })
	}
	worker := 1
	var assign func()
	assign = func() {
		w.event(0, "assign a task", send(func(j int, m Message) { w.receive(j, m, "task", nil) },
			worker))
		worker = worker%(n-1) + 1
		w.after(assign)
	}
	w.after(assign)
	w.run()
	return w.rec.Computation()
}

// others returns the processes but for the ones listed.
func others(n int, but ...int) []int {
	var out []int
next:
	for j := range n {
		for _, b := range but {
			if j == b {
				continue next
			}
		}
		out = append(out, j)
	}
	return out
}

// NotIdb is the negation of the invariant I_db of the paper's formula (6), for
// computations of DatabasePartition with n processes: no process is changing the
// partition, but two of them disagree on it.
func NotIdb(n int) string {
	return fmt.Sprintf("!((forall i in {%s}: !i.chg) => (forall i != j: i.partn == j.partn))",
		strings.Join(Names("p", n)[1:], ", "))
}
