package search

import (
	"bufio"
	"fmt"
	"io"
	"os"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/statestore"
	"cpor/statestore/spill"
	"cpor/system"
)

// With a disk, all parts of a rank share its files: the covered states of a rank are one set,
// since states on the disk name their parents by hashes that mean the same everywhere. So each
// part that a rank writes names all its files, and contains all states to expand or to look for.
// A rank that resumes a part takes the files as they are, even if they contain states of other
// parts, and of the work only what belongs to the part. If the division has changed, queues of
// waiting states are filtered, so each rank keeps only its own.

// candidateOf is a state to be looked for.
type candidateOf struct {
	from  uint64
	state system.State
}

// saveParts writes this rank's parts of a checkpoint that has begun, and returns its files. No
// worker may be running.
func (d *disk) saveParts() (files []spill.Kept, err error) {
	r := d.run
	if d.failed != nil {
		return nil, d.failed
	}
	s, files, err := d.freeze()
	if err != nil {
		return nil, err
	}
	s.Rank = r.parts.rank
	to := d.keptIn()
	if err := os.MkdirAll(to, 0o777); err != nil {
		return nil, err
	}
	if err := d.bring(files, d.there, to); err != nil {
		return nil, err
	}
	if err := checkpoint.SyncDir(r.o.Checkpoint.Dir); err != nil {
		return nil, err
	}
	for slot, o := range r.parts.own {
		part, own, err := r.savedPart(slot)
		if err != nil {
			return nil, err
		}
		part.Disk = s
		if slot == 0 {
			for f := range r.found.All() {
				part.Findings = append(part.Findings, savedFinding{f.violation, 0, f.state, f.tail})
			}
		} else {
			// These count once.
			s.States, s.Drops, s.Looks = 0, 0, 0
		}
		err = own(func(w io.Writer) error {
			return d.write(w, s, func() error { return engine.WriteRecord(w, part) })
		})
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", o.number, err)
		}
	}
	return files, nil
}

// keptIn is where the files of this rank are kept.
func (d *disk) keptIn() string { return spill.RankDir(d.run.o.Checkpoint.Dir, d.run.parts.rank) }

// commit writes a checkpoint of a search whose parts are all in this process. An error ends the
// search.
func (d *disk) commit() error {
	d.run.nextSave()
	files, err := d.saveParts()
	if d.failed != nil {
		return d.failed
	}
	p := d.run.parts
	if d.run.o.Checkpoint.Parts.Commit(p.saves, p.count, err) {
		d.counts(files, d.keptIn())
	}
	return nil
}

// taken is what was restored from parts with a disk.
type taken struct {
	disk       *disk
	watch      *engine.Watch
	dir        string
	writers    map[int]bool // whose files have been taken
	candidates []candidateOf
	over       error // what ended it before all was there
}

// takeDisk restores this rank's parts of a search with a disk.
func (p *parts) takeDisk(from *engine.Parts, t *taken) (kept []*saved, work []*statestore.Batch,
	err error) {
	d := t.disk
	d.there = map[spill.Kept]bool{}
	for slot := range p.own {
		k, w, err := p.loadDisk(from, slot, t)
		if err != nil {
			return nil, nil, err
		}
		if work = append(work, w...); k != nil {
			kept = append(kept, k)
		}
	}
	if t.over != nil && t.watch.Err() == nil {
		return nil, nil, &engine.OptionError{
			Message: fmt.Sprintf("the checkpoint cannot be resumed: -disk: %v", t.over)}
	}
	// It continues as if memory had been full just now.
	d.dropped, d.since = true, d.states
	d.drops++
	return kept, work, nil
}

// resume restores the rest, when there is a store.
func (d *disk) resume(t *taken) error {
	d.hire()
	for _, c := range t.candidates {
		if err := d.candidate(c.from, c.state); err != nil {
			return err
		}
	}
	if t.candidates = nil; t.over != nil {
		// It must end before everything is restored: the last checkpoint stays valid.
		d.failed = &engine.Stop{Reason: "the disk was not read completely"}
	}
	return nil
}

// loadDisk is load for a search with a disk.
func (p *parts) loadDisk(from *engine.Parts, slot int, t *taken) (kept *saved,
	work []*statestore.Batch, err error) {
	o := &p.own[slot]
	f, err := from.Open(o.number % from.From)
	if err != nil {
		return nil, nil, &engine.OptionError{Message: err.Error()}
	}
	defer f.Close()
	part, err := p.head(f, slot, from.From)
	if err != nil {
		return nil, nil, err
	}
	s := part.Disk
	switch {
	case s == nil:
		return nil, nil, engine.Unreadable(fmt.Errorf("part %d has no files of -disk", part.Part))
	case o.foreign != nil:
		return nil, nil, &engine.OptionError{
			Message: fmt.Sprintf("the states on the disks name locks by each rank's own "+
				"numbers, so a rank cannot take over several parts: resume on %d ranks, or a "+
				"multiple of that", from.From)}
	}
	d := t.disk
	if len(t.writers) == 0 {
		d.session = s.Session + 1
		d.dir.Number(d.session, p.rank)
	}
	if !t.writers[s.Rank] {
		t.writers[s.Rank] = true
		same := s.Rank == p.rank && from.From == p.count && part.Ranks == p.ranks
		if t.over == nil {
			t.over = p.takeFiles(t, s, same)
		}
	}
	if o.number < from.From {
		d.states, d.drops, d.looked = d.states+s.States, d.drops+s.Drops, d.looked+s.Looks
		if kept = part.Search; kept == nil {
			kept = &saved{}
		}
		kept.Findings = part.Findings
	}
	mine := &statestore.Batch{}
	in := bufio.NewReader(f)
	var exported system.State
	owned := func(state system.State) bool {
		exported = p.export(exported, state)
		return p.division.Part(exported, p.count) == o.number
	}
	err = readStates(in, s.Work, func(depth uint64, state system.State) error {
		if !owned(state) {
			return nil
		}
		if mine.Full() || mine.Len() > 0 && mine.Depth != int(depth) {
			work = append(work, mine)
			mine = &statestore.Batch{}
		}
		mine.Depth = int(depth)
		mine.AddState(0, state, nil)
		return nil
	})
	if work = append(work, mine); err == nil {
		err = readStates(in, s.Open, func(from uint64, state system.State) error {
			if owned(state) {
				t.candidates = append(t.candidates,
					candidateOf{from, append(system.State(nil), state...)})
			}
			return nil
		})
	}
	if err != nil {
		return nil, nil, err
	}
	return kept, work, engine.AtEnd(in)
}

// takeFiles restores the files of a rank. same says whether it had the same states as this one.
func (p *parts) takeFiles(t *taken, s *savedDisk, same bool) error {
	d, from := t.disk, spill.RankDir(t.dir, s.Rank)
	if err := d.set.Restore(t.watch.Context(), from, s.Set); err != nil {
		return err
	}
	if s.Rank == p.rank {
		for _, runs := range s.Set {
			for _, k := range runs {
				d.there[k] = true
			}
		}
	}
	for _, k := range s.Waiting {
		q, err := spill.RestoreQueue(t.watch.Context(), d.dir, from, k)
		if err != nil {
			return err
		}
		if same {
			for _, g := range k.Segments {
				d.there[g] = true
			}
		} else if q, err = p.sift(q, d.dir); err != nil {
			return err
		}
		d.queues = append(d.queues, q)
	}
	return nil
}

// sift returns a queue of the states of q that belong to this rank.
func (p *parts) sift(q *spill.Queue, dir *spill.Dir) (*spill.Queue, error) {
	own := spill.NewQueue(dir)
	var state, exported system.State
	for {
		depth, s, ok, err := q.Pop(state)
		if err != nil || !ok {
			return own, err
		}
		state = s
		exported = p.export(exported, state)
		if p.division.Part(exported, p.count)%p.ranks == p.rank {
			if err := own.Push(depth, state); err != nil {
				return own, err
			}
		}
	}
}
