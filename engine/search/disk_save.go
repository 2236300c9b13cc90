package search

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/statestore"
	"cpor/statestore/spill"
	"cpor/system"
)

// savedDisk is what a checkpoint of a search with a disk has besides that of one without: the
// names of the files with the covered set and the waiting states. The work set and the
// candidates follow, as states.
type savedDisk struct {
	States       uint64 // covered
	Drops, Looks int
	Set          [spill.Shards][]spill.Kept
	Waiting      []spill.KeptQueue
	Work, Open   int

	// On ranks: which one wrote it, and how often the search had resumed by then.
	Rank, Session int
}

// freeze writes all covered states to the disk, and returns their names and the files.
func (d *disk) freeze() (s *savedDisk, files []spill.Kept, err error) {
	d.collect()
	if err := d.flush(true); err != nil {
		return nil, nil, err
	}
	if d.run.watch.Err() == nil { // else the search is to end
		if err := d.shards(func(i int, _ func(spill.Entry) []uint64) error {
			return d.set.Merge(i)
		}); err != nil {
			return nil, nil, d.stop(err)
		}
	}
	s = &savedDisk{States: d.states, Drops: d.drops, Looks: d.looked, Set: d.set.Kept(),
		Session: d.session}
	for _, runs := range s.Set {
		files = append(files, runs...)
	}
	for _, q := range d.queues {
		k, err := q.Kept()
		if err != nil {
			return nil, nil, d.stop(err)
		}
		s.Waiting = append(s.Waiting, k)
		files = append(files, k.Segments...)
	}
	return s, files, nil
}

// save writes a checkpoint. No worker may be running. An error ends the search.
func (d *disk) save(keep *engine.Keeper) error {
	keep.Wait() // what it holds is released
	s, files, err := d.freeze()
	if err != nil {
		return err
	}
	d.dir.Hold()
	to := d.run.o.Checkpoint.Dir
	there := d.there
	all, _ := d.run.withFindings()
	keep.WriteWith(func(w io.Writer) error {
		return d.write(w, s, func() error {
			if err := engine.WriteRecord(w, &all); err != nil {
				return err
			}
			return engine.WriteRecord(w, s)
		})
	}, func() error { return d.bring(files, there, to) }, func(counts bool) {
		if counts {
			d.counts(files, to)
		}
		_ = d.dir.Release()
	})
	return nil
}

// bring moves the files of a checkpoint to where they are kept, except those already there.
func (d *disk) bring(files []spill.Kept, there map[spill.Kept]bool, to string) error {
	for _, k := range files {
		if there[k] {
			continue
		}
		if err := d.dir.Keep(k, to); err != nil {
			return fmt.Errorf("a file of -disk cannot be kept: %w", err)
		}
	}
	return checkpoint.SyncDir(to)
}

// counts is called when a checkpoint with these files is valid.
func (d *disk) counts(files []spill.Kept, to string) {
	// A file that cannot be removed takes space, and is tried again.
	_ = spill.KeepOnly(to, files)
	d.there = map[spill.Kept]bool{}
	for _, k := range files {
		d.there[k] = true
	}
}

// write writes a checkpoint: first head, which contains s, then the states to expand and those
// to look for.
func (d *disk) write(w io.Writer, s *savedDisk, head func() error) error {
	r := d.run
	var batches []*statestore.Batch
	owner := []int{}
	s.Work, s.Open = 0, 0
	for id := range r.o.Workers + 1 {
		for b := r.ws.Pop(id); b != nil; b = r.ws.Pop(id) {
			batches, owner = append(batches, b), append(owner, id)
			s.Work += b.Len()
		}
	}
	defer func() {
		for i := len(batches) - 1; i >= 0; i-- {
			r.ws.Push(owner[i], batches[i])
		}
	}()
	for _, l := range d.open {
		s.Open += len(l)
	}
	var late []lateArrival
	if r.ranks != nil {
		late = r.ranks.overflow
		s.Open += len(late)
	}
	if err := head(); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	var buf system.State
	var bytes []byte
	write := func(number uint64, state system.State) error {
		bytes = binary.AppendUvarint(binary.AppendUvarint(bytes[:0], number), uint64(len(state)))
		for _, v := range state {
			bytes = binary.AppendUvarint(bytes, v)
		}
		_, err := out.Write(bytes)
		return err
	}
	load := d.sessions[0]
	for _, b := range batches {
		for i, ref := range b.Refs {
			state := b.State(i)
			if state == nil {
				buf = load.Load(ref, buf)
				state = buf
			}
			if err := write(uint64(b.Depth), state); err != nil {
				return err
			}
		}
	}
	for _, l := range d.open {
		for _, e := range l {
			buf = load.Load(e.Ref, buf)
			if err := write(e.From, buf); err != nil {
				return err
			}
		}
	}
	for _, l := range late {
		if err := write(l.from, l.state); err != nil {
			return err
		}
	}
	return out.Flush()
}

// keepingDisk is a disk whose search writes checkpoints.
type keepingDisk struct{ *disk }

// search implements [place].
func (k keepingDisk) search(res *Result, fresh bool) (*Result, error) {
	return k.run.alone(res, fresh, k.explore)
}

func (k keepingDisk) explore(report func(queued int)) error {
	save := k.commit
	if c := k.run.o.Checkpoint; c.Parts == nil {
		keep := c.NewKeeper()
		defer keep.Wait()
		save = func() error { return k.save(keep) }
	}
	err := k.exploreSaving(report, save)
	if engine.Interrupted(err) && k.failed == nil {
		save() // if it fails, err is not the first reason
	}
	return err
}

// restore reads the files of a checkpoint, unless the watch ends it.
func (d *disk) restore(watch *engine.Watch, dir string, s *savedDisk) error {
	// It continues as if memory had been full just now.
	d.dropped, d.states, d.since, d.drops, d.looked = true, s.States, s.States, s.Drops+1, s.Looks
	err := d.set.Restore(watch.Context(), dir, s.Set)
	d.there = map[spill.Kept]bool{}
	for _, runs := range s.Set {
		for _, k := range runs {
			d.there[k] = true
		}
	}
	for _, k := range s.Waiting {
		if err != nil {
			break
		}
		var q *spill.Queue
		if q, err = spill.RestoreQueue(watch.Context(), d.dir, dir, k); err == nil {
			d.queues = append(d.queues, q)
			for _, g := range k.Segments {
				d.there[g] = true
			}
		}
	}
	return err
}

// read restores the work set and the candidates.
func (d *disk) read(in *bufio.Reader, s *savedDisk) error {
	q := d.newFiller()
	err := readStates(in, s.Work, func(depth uint64, state system.State) error {
		q.add(int(depth), state)
		return nil
	})
	q.flush()
	if err == nil {
		err = readStates(in, s.Open, d.candidate)
	}
	if err != nil {
		return err
	}
	return engine.AtEnd(in)
}

// readStates reads n of the states that write has written, each with its number; a state is
// valid until f returns.
func readStates(in *bufio.Reader, n int, f func(number uint64, state system.State) error) error {
	var state system.State
	for range n {
		number, err := binary.ReadUvarint(in)
		if err != nil {
			return engine.Unreadable(err)
		}
		words, err := binary.ReadUvarint(in)
		for state = state[:0]; words > 0 && err == nil; words-- {
			var v uint64
			v, err = binary.ReadUvarint(in)
			state = append(state, v)
		}
		if err != nil {
			return engine.Unreadable(err)
		}
		if err := f(number, state); err != nil {
			return err
		}
	}
	return nil
}

// candidate restores a state to be looked for.
func (d *disk) candidate(from uint64, state system.State) error {
	ref, added, err := d.sessions[0].Insert(state, 0)
	if errors.Is(err, statestore.ErrFull) {
		return &engine.OptionError{Message: "the checkpoint needs more memory than -max-memory " +
			"allows"}
	}
	if err != nil {
		return err
	}
	if added {
		h := spill.Hash(state)
		i := spill.Shard(h)
		d.open[i] = append(d.open[i], spill.Entry{Hash: h, Ref: ref, From: from})
	}
	return nil
}
