package cluster

import (
	"encoding/binary"
	"errors"
)

// report is what a rank says of itself when it is asked.
type report struct {
	wave           uint64
	passive        bool
	sent, received uint64 // messages of states, since the start
	progress       Progress
}

// Progress is what a rank has done so far.
type Progress struct {
	States, Transitions, Attempts, Queued, StoreBytes, Memory uint64
	MaxDepth, Violations                                      uint64
}

// add adds the figures of another rank.
func (p *Progress) add(q Progress) {
	p.States += q.States
	p.Transitions += q.Transitions
	p.Attempts += q.Attempts
	p.Queued += q.Queued
	p.StoreBytes += q.StoreBytes
	p.Memory += q.Memory
	p.MaxDepth = max(p.MaxDepth, q.MaxDepth)
	p.Violations += q.Violations
}

// detector is rank 0's side of the detection of termination by Mattern's four
// counters; see the package comment for the proof.
type detector struct {
	ranks    int
	wave     uint64 // the number of the current one, from 1
	missing  int    // answers to it that have not come
	passive  bool   // all answers to it so far
	sent     uint64 // sums of the answers to it
	received uint64
	progress Progress

	// Of the wave before it: whether all were passive, and what they had received.
	lastPassive  bool
	lastReceived uint64
}

// begin begins a wave and returns its number. The one before must be complete.
func (d *detector) begin() uint64 {
	d.wave++
	d.missing, d.passive, d.sent, d.received, d.progress = d.ranks, true, 0, 0, Progress{}
	return d.wave
}

// complete reports whether all have answered the current wave.
func (d *detector) complete() bool { return d.missing == 0 }

// add adds a rank's answer to the current wave, and reports whether the search has ended. It is
// to be asked no more after that.
func (d *detector) add(r report) (ended bool) {
	if r.wave != d.wave || d.missing == 0 {
		return false // cannot be: waves do not overlap
	}
	d.missing--
	d.passive = d.passive && r.passive
	d.sent += r.sent
	d.received += r.received
	d.progress.add(r.progress)
	if d.missing > 0 {
		return false
	}
	ended = d.lastPassive && d.passive && d.lastReceived == d.sent
	d.lastPassive, d.lastReceived = d.passive, d.received
	return ended
}

// encode returns the report as the body of a message: all of it as varints.
func (r report) encode() []byte {
	passive := uint64(0)
	if r.passive {
		passive = 1
	}
	var b []byte
	for _, v := range append([]uint64{r.wave, passive, r.sent, r.received},
		values(r.progress.fields())...) {
		b = binary.AppendUvarint(b, v)
	}
	return b
}

// fields returns the figures one by one.
func (p *Progress) fields() []*uint64 {
	return []*uint64{&p.States, &p.Transitions, &p.Attempts, &p.Queued, &p.StoreBytes, &p.Memory,
		&p.MaxDepth, &p.Violations}
}

func values(ps []*uint64) []uint64 {
	vs := make([]uint64, len(ps))
	for i, p := range ps {
		vs[i] = *p
	}
	return vs
}

// decodeReport is the inverse of encode.
func decodeReport(b []byte) (report, error) {
	var r report
	var passive uint64
	for _, p := range append([]*uint64{&r.wave, &passive, &r.sent, &r.received},
		r.progress.fields()...) {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return r, errors.New("a report of another rank is damaged: do all ranks run the same " +
				"cpor?")
		}
		*p, b = v, b[n:]
	}
	r.passive = passive == 1
	return r, nil
}
