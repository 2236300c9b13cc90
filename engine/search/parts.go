package search

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/engine/cluster"
	"cpor/engine/cluster/division"
	"cpor/statestore"
	"cpor/system"
)

// parts is how the covered set of a search is divided: a state belongs to the part that its
// division says ([division.Division]), and part i is on rank i modulo their number. A search
// begins with as many parts as ranks. On fewer ranks it continues with the same parts, several
// on each rank ([statestore.Join]). On more ranks, each part is split into several that begin as
// copies of it. All of these have its states, which is harmless, since each is only asked about
// those that belong to it. The items of the work set are divided.
//
// Sending the states to other ranks instead would lose their parents, which are stored as some
// bits of their Refs and mean something only in their own stores.
type parts struct {
	count int // of all ranks
	rank  int
	ranks int
	own   []part // of this rank, each a tree
	saves int    // the number of the last checkpoint, see engine.Parts

	division *division.Division // of all states; nil if it is still to be chosen
	portable system.Portable    // nil: states are the same everywhere
}

// part is a part of this rank.
type part struct {
	number int
	store  statestore.Store
	extra  uint64          // states that count in another part
	mark   checkpoint.Mark // of its last checkpoint
	// foreign says what the numbers in its states mean; nil if they mean the same as elsewhere
	// in this process.
	foreign system.Portable
}

// savedPart precedes a part.
type savedPart struct {
	Part, Count int
	Ranks       int
	Extra       uint64
	Division    *division.Division
	Findings    []savedFinding
	Search      *saved // of the whole rank, in the first of its parts
	// Numbers is what the numbers in the states mean, of a system that is portable.
	Numbers json.RawMessage `json:",omitempty"`
	Disk    *savedDisk      `json:",omitempty"` // in place of the covered set and what follows
}

// FirstPart returns which of that many parts a rank restores first.
func FirstPart(rank, from int) int { return rank % from }

// NumbersOf returns what the numbers in the states of a part mean (see [system.Portable]); r
// gives what the search has written.
func NumbersOf(r io.Reader) ([]byte, error) {
	var s savedPart
	err := engine.ReadRecord(r, &s)
	return s.Numbers, err
}

// divide returns the division of a search that continues with that many parts, or that begins if
// there are none.
func divide(sys system.System, from, rank, ranks int) (*parts, error) {
	p := &parts{count: from, rank: rank, ranks: ranks}
	p.portable = sys.Capabilities().Portable
	if from == 0 {
		p.count = ranks
	}
	p.count *= (ranks + p.count - 1) / p.count
	if most := (p.count + ranks - 1) / ranks; most > statestore.MaxJoined {
		return nil, &engine.OptionError{
			Message: fmt.Sprintf("the checkpoint has %d parts and a rank can take %d: use %d "+
				"ranks or more",
				p.count, statestore.MaxJoined,
				(p.count+statestore.MaxJoined-1)/statestore.MaxJoined)}
	}
	for i := rank; i < p.count; i += ranks {
		p.own = append(p.own, part{number: i})
	}
	return p, nil
}

// placing says where the states of a rank are. Those of a part have the numbers of the rank that
// began it.
type placing struct {
	*parts
	exported, there system.State
	// by slot; nil: states are the same there
	to, from []func(dst, s system.State) system.State
}

func (p *parts) placing() statestore.Placing {
	x := &placing{parts: p}
	for _, o := range p.own {
		var to, from func(dst, s system.State) system.State
		if o.foreign != nil {
			to, from = p.portable.Translator(o.foreign), o.foreign.Translator(p.portable)
		}
		x.to, x.from = append(x.to, to), append(x.from, from)
	}
	return x
}

// Place implements [statestore.Placing].
func (x *placing) Place(s []uint64) (slot int, there []uint64) {
	if x.portable == nil {
		return x.division.Part(s, x.count) / x.ranks, s
	}
	x.exported = x.portable.Export(x.exported[:0], s)
	slot = x.division.Part(x.exported, x.count) / x.ranks
	if x.to[slot] == nil {
		return slot, s
	}
	x.there = x.to[slot](x.there[:0], s)
	return slot, x.there
}

// Here implements [statestore.Placing].
func (x *placing) Here(slot int, dst, s []uint64) []uint64 {
	if x.from[slot] == nil {
		return append(dst[:0], s...)
	}
	return x.from[slot](dst[:0], s)
}

// at returns as what a state would be in one of the own parts.
func (p *parts) at(slot int, s system.State) system.State {
	f := p.own[slot].foreign
	if f == nil {
		return s
	}
	return p.portable.Translator(f)(nil, s)
}

// export returns a state as it goes to other ranks, in the memory of dst if it is not
// the same.
func (p *parts) export(dst, s system.State) system.State {
	if p.portable == nil {
		return s
	}
	return p.portable.Export(dst[:0], s)
}

// store combines the parts of this rank into its store.
func (p *parts) store() (statestore.Store, error) {
	if p.own[0].store != nil && (len(p.own) == 1 || p.own[1].store == nil) &&
		p.own[0].foreign == nil {
		return p.own[0].store, nil // all of it, with a disk
	}
	var all []statestore.Store
	for _, o := range p.own {
		all = append(all, o.store)
	}
	return statestore.Join(all, p.placing)
}

// open returns the parts of a rank, with what a checkpoint has of them.
func open(sys system.System, c *engine.Checkpoint, rank, ranks int, so statestore.Options,
	t *taken) (p *parts, kept []*saved, work []*statestore.Batch, err error) {
	if p, err = divide(sys, c.Parts.From, rank, ranks); err != nil {
		return nil, nil, nil, err
	}
	if c.Parts.From == 0 || t != nil {
		if p.own[0].store, err = statestore.New(so); err != nil {
			return nil, nil, nil, &engine.OptionError{Message: err.Error()}
		}
	}
	if c.Parts.From > 0 && t != nil {
		if kept, work, err = p.takeDisk(c.Parts, t); err != nil {
			return nil, nil, nil, err
		}
	} else if c.Parts.From > 0 {
		so.MaxBytes /= uint64(len(p.own))
		for slot := range p.own {
			k, w, err := p.load(c.Parts, slot, so)
			if errors.Is(err, statestore.ErrFull) {
				err = &engine.OptionError{
					Message: "the checkpoint needs more memory than -max-memory allows"}
			}
			if err != nil {
				return nil, nil, nil, err
			}
			if k != nil {
				kept = append(kept, k)
			}
			work = append(work, w...)
		}
	}
	if rank == 0 {
		err = c.Start()
	}
	return p, kept, work, err
}

// head reads what precedes a part, of that many.
func (p *parts) head(f io.Reader, slot, from int) (*savedPart, error) {
	var s savedPart
	err := engine.ReadRecord(f, &s)
	if err != nil {
		return nil, err
	}
	if s.Part != p.own[slot].number%from || s.Count != from {
		return nil, engine.Unreadable(fmt.Errorf("found part %d of %d instead of part %d of %d",
			s.Part, s.Count, p.own[slot].number%from, from))
	}
	switch d := s.Division; {
	case d == nil:
		return nil, engine.Unreadable(
			fmt.Errorf("part %d of %d does not say which states it has: was it written by "+
				"another version of cpor?", s.Part, s.Count))
	case !d.Valid(from), p.division != nil && !reflect.DeepEqual(d, p.division):
		return nil, engine.Unreadable(
			fmt.Errorf("part %d of %d divides the states differently than the other parts",
				s.Part, s.Count))
	}
	p.division = s.Division
	if p.portable != nil {
		if p.own[slot].foreign, err = p.portable.Foreign(s.Numbers); err != nil {
			return nil, engine.Unreadable(err)
		}
	}
	return &s, nil
}

// load reads a part; what it returns are what the rank that wrote it has kept, if that
// is in it and is not for a copy, and the items of the work set.
func (p *parts) load(from *engine.Parts, slot int, so statestore.Options) (kept *saved,
	work []*statestore.Batch, err error) {
	o := &p.own[slot]
	old, copied, copies := o.number%from.From, o.number/from.From, p.count/from.From
	f, err := from.Open(old)
	if err != nil {
		return nil, nil, &engine.OptionError{Message: err.Error()}
	}
	defer f.Close()
	s, err := p.head(f, slot, from.From)
	if err != nil {
		return nil, nil, err
	}
	here := p.placing()
	if o.store, o.mark, err = checkpoint.RestoreStore(f, so); err != nil {
		return nil, nil, err
	}
	if err := statestore.Share(o.store, p.division.Shapes); err != nil {
		return nil, nil, engine.Unreadable(err)
	}
	ws := statestore.NewWorkSet(1)
	if _, err := statestore.RestoreWork(ws, f); err != nil {
		return nil, nil, engine.Unreadable(err)
	}
	if err := engine.AtEnd(f); err != nil {
		return nil, nil, err
	}
	o.extra = o.store.Len()
	if copied > 0 {
		o.mark = checkpoint.Mark{} // the log continues with the part that it is of
	} else {
		o.extra = s.Extra
		if kept = s.Search; kept == nil {
			kept = &saved{}
		}
		for _, f := range s.Findings {
			f.Ref, f.State = statestore.Within(slot, f.Ref), here.Here(slot, nil, f.State)
			kept.Findings = append(kept.Findings, f)
		}
	}
	next := 0
	var exported, local system.State
	for b := ws.Pop(0); b != nil; b = ws.Pop(0) {
		mine := &statestore.Batch{Depth: b.Depth}
		for i, ref := range b.Refs {
			if state := b.State(i); state != nil {
				local = here.Here(slot, local, state)
				if exported = p.export(exported, local); p.division.Part(exported,
					p.count) == o.number {
					mine.AddState(ref, local, nil)
				}
				continue
			}
			if next%copies == copied {
				mine.Add(statestore.Within(slot, ref))
			}
			next++
		}
		work = append(work, mine)
	}
	return kept, work, nil
}

// goOn restores this rank's parts of a checkpoint.
func (r *run) goOn(kept []*saved, work []*statestore.Batch) {
	for i, b := range work {
		r.ws.Push(i%r.o.Workers, b)
	}
	for _, s := range kept {
		r.before.Counters.Add(s.Counters)
		r.before.MaxDepth = max(r.before.MaxDepth, s.MaxDepth)
		r.before.Elapsed = max(r.before.Elapsed, s.Elapsed)
		for i := range s.Findings {
			r.find(&s.Findings[i], nil)
		}
		r.found.More += s.More
		s.recount(r.sys, &r.o)
	}
	r.states.Store(r.place.covered())
}

// savedPart returns what precedes one of this rank's parts, without findings, and a function
// that writes the part.
func (r *run) savedPart(slot int) (s *savedPart, write func(func(io.Writer) error) error,
	err error) {
	o := r.parts.own[slot]
	s = &savedPart{Part: o.number, Count: r.parts.count, Ranks: r.parts.ranks, Extra: o.extra,
		Division: r.parts.division}
	if p := cmp.Or(o.foreign, r.parts.portable); p != nil {
		if s.Numbers, err = p.Numbers(); err != nil {
			return nil, nil, err
		}
	}
	if slot == 0 {
		k := r.keepsakes()
		s.Search = &k
	}
	return s, func(save func(io.Writer) error) error {
		return r.o.Checkpoint.Parts.Write(r.parts.saves, o.number, save)
	}, nil
}

// nextSave begins the next checkpoint of a search that is divided into parts.
func (r *run) nextSave() {
	r.parts.saves++
	if begin := r.o.Checkpoint.Parts.Begin; begin != nil {
		begin(r.parts.saves)
	}
}

// saveParts writes this rank's parts of a checkpoint that has begun. No worker may be running.
func (r *run) saveParts() error {
	var all []*statestore.Batch
	for q := range r.o.Workers + 1 {
		for b := r.ws.Pop(q); b != nil; b = r.ws.Pop(q) {
			all = append(all, b)
		}
	}
	defer func() {
		for i, b := range all {
			r.ws.Push(i%r.o.Workers, b)
		}
	}()
	var failed error
	place := r.parts.placing()
	for slot := range r.parts.own {
		o := &r.parts.own[slot]
		s, write, err := r.savedPart(slot)
		if err != nil {
			return errors.Join(failed, err)
		}
		for f := range r.found.All() {
			if at, ref := statestore.Apart(f.ref); at == slot {
				s.Findings = append(s.Findings, savedFinding{f.violation, ref,
					r.parts.at(slot, f.state), f.tail})
			}
		}
		ws := statestore.NewWorkSet(1)
		for _, b := range all {
			mine := ws.Get(0)
			mine.Depth = b.Depth
			for i, ref := range b.Refs {
				if state := b.State(i); state != nil {
					if of, there := place.Place(state); of == slot {
						mine.AddState(ref, there, nil)
					}
				} else if at, ref := statestore.Apart(ref); at == slot {
					mine.Add(ref)
				}
			}
			ws.Push(0, mine)
		}
		err = write(func(w io.Writer) error {
			if err := engine.WriteRecord(w, s); err != nil {
				return err
			}
			if err := checkpoint.SaveStore(w, o.store, &o.mark); err != nil {
				return err
			}
			return statestore.SaveWork(ws, nil, w)
		})
		failed = errors.Join(failed, err)
	}
	return failed
}

// agree returns the errors of all ranks, on every rank.
func agree(c engine.Comm, err error) error {
	x := cluster.NewExchange(c, cluster.Options{})
	said := ""
	if err != nil {
		said = err.Error()
	}
	all, lost := x.Gather([]byte(said))
	if lost != nil {
		return &cluster.Left{Err: lost}
	}
	var each []string
	for _, m := range all {
		if len(m) > 0 && !slices.Contains(each, string(m)) {
			each = append(each, string(m))
		}
	}
	m, lost := x.Broadcast([]byte(strings.Join(each, "\n")))
	if lost != nil {
		return &cluster.Left{Err: lost}
	}
	if len(m) > 0 {
		return &engine.OptionError{Message: string(m)}
	}
	return nil
}

// agreeDivision returns rank 0's division of the states, on every rank.
func agreeDivision(r *run) (*division.Division, error) {
	var m []byte
	d := &division.Division{}
	if r.o.Ranks.Rank() == 0 {
		d = r.sampled()
		var err error
		if m, err = json.Marshal(d); err != nil {
			return nil, err
		}
	}
	x := cluster.NewExchange(r.o.Ranks, cluster.Options{})
	m, err := x.Broadcast(m)
	if err == nil {
		err = json.Unmarshal(m, d)
	}
	if err != nil {
		return nil, &cluster.Left{Err: err}
	}
	return d, nil
}

// sampled chooses a division for the ranks. Its transitions do not count, because the search
// executes them again.
func (r *run) sampled() *division.Division {
	if counts := r.sys.Capabilities().Counting; counts != nil && !r.o.Shared {
		before := counts.Executed()
		defer func() {
			back := counts.Executed()
			for i := range back {
				back[i] = before[i] - back[i] // modulo 2^64, as sums are
			}
			counts.AddExecuted(back)
		}()
	}
	var export func(dst, s system.State) system.State
	if p := r.sys.Capabilities().Portable; p != nil {
		export = p.Export
	}
	end := time.Now().Add(longestSample)
	d, _ := division.Choose(r.sys, r.o.Ranks.Size(), division.Options{
		Export:   export,
		Stopped:  func() bool { return r.watch.Context().Err() != nil || time.Now().After(end) },
		Examples: r.o.sizes.Samples,
	})
	return d
}

// longestSample is how long the sample of a division may take.
const longestSample = 500 * time.Millisecond
