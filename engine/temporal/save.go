package temporal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/statestore"
	"cpor/system"
	"cpor/trace"
)

// A check saves its results for earlier properties and conjuncts, and the current search: the
// store, the colors, and the stacks of the workers. A search stops where a worker would continue
// with the next vertex of its stack; an interrupted expansion is repeated. So with one worker,
// it continues exactly as it would have done.
//
// The stacks belong to the workers, whose colors the vertices on them have. With more workers,
// the new ones begin with an empty stack. With fewer, the remaining stacks are finished in turns
// (exploration.slots), and their workers take nothing new. The correctness argument does not
// depend on the speed of workers, so it still holds.
//
// The work after a search (the lasso to show, whether the pass is vacuous) is short or bounded,
// and is repeated. So is the decomposition for strong fairness; its product is saved.

// saved is what a check saves besides the store, the colors and the stacks.
type saved struct {
	Property int // the one at hand
	Done     []savedResult
	Current  savedResult // so far
	Pass     int
	Elapsed  time.Duration
	Executed [][]uint64 // see system.Counting

	Automaton json.RawMessage
	Threads   int
	Count     int64 // states
	Fault     *savedPath
	Workers   []savedWorker
	Queue     []savedHanded
	Segments  []int    // by segment, the number of the one before it
	Sets      [][]bool // of the product
}

// savedResult is a result; Property is in the options.
type savedResult struct {
	Result
	Example *savedExample
	Fault   *savedFault
}

type savedExample struct {
	Part, Initial int
	Stem, Loop    []trace.Step
}

type savedFault struct {
	Violation system.Violation
	Trace     trace.Trace
}

type savedPath struct {
	Path      []statestore.Ref
	Thread    int
	Alt       uint64
	Violation system.Violation
}

type savedWorker struct {
	Begun                      int
	Opening                    bool
	Red                        int
	Prefix                     int // a segment; 0: none
	Transitions, Full, Reduced uint64
	Random                     []byte
}

type savedHanded struct {
	Ref     statestore.Ref
	At      uint32
	Entered bool
	Prefix  int
}

// keeping is a check's side of its checkpoints.
type keeping struct {
	c     *engine.Checkpoint
	keep  *engine.Keeper
	watch *engine.Watch
	props []engine.Property
	sys   []system.System
	done  []*Result
	begun bool // Checkpoint.Start was called
	over  bool // what was interrupted has been saved; what others find out after it is not
	from  *saved
	rest  time.Duration // of the searches that this one continues with
}

func newKeeping(sys system.System, props []engine.Property, c *engine.Checkpoint,
	watch *engine.Watch) (*keeping, error) {
	k := &keeping{c: c, watch: watch, props: props, sys: []system.System{sys}}
	for _, p := range props {
		if p.System != nil && !slices.Contains(k.sys, p.System) {
			k.sys = append(k.sys, p.System)
		}
	}
	for _, s := range k.sys {
		if err := c.Unkept(s); err != nil {
			return nil, err
		}
	}
	k.keep = c.NewKeeper()
	if c.From == nil {
		return k, nil
	}
	k.from = new(saved)
	if err := engine.ReadRecord(c.From, k.from); err != nil {
		return nil, err
	}
	if n := len(k.from.Done); n != k.from.Property || n >= len(props) ||
		len(k.from.Executed) != len(k.sys) {
		return nil, engine.Unreadable(errors.New("it belongs to other properties"))
	}
	k.rest = k.from.Elapsed
	for i, s := range k.sys {
		if counts := s.Capabilities().Counting; counts != nil {
			counts.AddExecuted(k.from.Executed[i])
		}
	}
	return k, nil
}

// start opens the directory for checkpoints, when nothing can be refused any more.
func (k *keeping) start() error {
	if k.begun {
		return nil
	}
	k.begun = true
	return k.c.Start()
}

// keep returns what is saved of a result.
func (r *Result) keep() savedResult {
	s := savedResult{Result: *r}
	if x := r.Counterexample; x != nil {
		s.Example = &savedExample{slices.Index(conjuncts(r.Property.Formula), x.Part), x.Initial,
			x.Stem, x.Loop}
	}
	if f := r.Fault; f != nil {
		s.Fault = &savedFault{f.Violation, *f.Trace}
	}
	return s
}

// recall restores the result that keep was given, and checks its counterexample.
func (s *savedResult) recall(p engine.Property, sys system.System, o *Options) (*Result, error) {
	r := &s.Result
	r.Property = p
	if f := s.Fault; f != nil {
		r.Fault = &Fault{f.Violation, &f.Trace}
		if err := r.Fault.Trace.Replay(sys); err != nil {
			return nil, engine.Unreadable(err)
		}
	}
	if x := s.Example; x != nil {
		parts := conjuncts(p.Formula)
		if x.Part < 0 || x.Part >= len(parts) {
			return nil, engine.Unreadable(errors.New("there is no such conjunct"))
		}
		r.Counterexample = &Counterexample{Property: p, Part: parts[x.Part], Initial: x.Initial,
			Stem: x.Stem, Loop: x.Loop}
		if err := r.Counterexample.replay(sys, o); err != nil {
			return nil, engine.Unreadable(err)
		}
	}
	return r, nil
}

// explore runs a search, pass number n, to its end, which can be an interruption.
func (c *checker) explore(s *exploration, n int) error {
	run := s.run
	if c.o.Strong {
		run = s.strongly
	}
	if c.keeping == nil {
		return run(c.watch)
	}
	if err := c.keeping.start(); err != nil {
		return err
	}
	for {
		stop := func() {}
		if every := c.o.Checkpoint.Every; every > 0 {
			done := make(chan struct{})
			t := time.AfterFunc(every, func() {
				defer close(done)
				s.pool.pause()
			})
			stop = func() {
				if !t.Stop() {
					<-done // so that it does not pause the search when that has gone on
				}
			}
		}
		err := run(c.watch)
		stop()
		paused := errors.Is(err, errPaused)
		if (paused || engine.Interrupted(err)) && !c.keeping.over {
			s.undo()
			c.keeping.keep.Write(func(w io.Writer) error { return c.save(w, s, n) })
			c.keeping.over = !paused
		}
		if !paused {
			return err
		}
	}
}

// undo revokes the claims of workers on states that they could not decide. None is running.
func (s *exploration) undo() {
	for _, w := range s.workers {
		if !w.opening || !w.x.undecided {
			continue
		}
		var ref statestore.Ref
		if g := s.whole; g != nil {
			ref = g.vertices[len(g.arcs)].ref
		} else {
			ref = w.stack.top().ref
		}
		e := s.colors.lock(ref)
		e.erase(bitClaimed)
		e.unlock()
		w.x.undecided = false
		s.undone++
	}
}

// save writes the check. No worker is running.
func (c *checker) save(w io.Writer, s *exploration, n int) error {
	k := c.keeping
	automaton, err := json.Marshal(s.a)
	if err != nil {
		return err
	}
	r := *c.r
	r.Time = c.spent()
	out := saved{
		Property: len(k.done), Current: r.keep(), Pass: n, Elapsed: k.rest + k.watch.Elapsed(),
		Executed:  make([][]uint64, len(k.sys)),
		Automaton: automaton, Threads: s.threads, Count: s.count.Load() - s.undone,
	}
	for _, r := range k.done {
		out.Done = append(out.Done, r.keep())
	}
	for i, sys := range k.sys {
		if counts := sys.Capabilities().Counting; counts != nil {
			out.Executed[i] = counts.Executed()
		}
	}
	if f := s.fault; f != nil {
		out.Fault = &savedPath{f.path, f.thread, f.alt, f.violation}
	}
	segments := []*segment{nil}
	numbers := map[*segment]int{nil: 0}
	number := func(g *segment) int {
		var path []*segment
		at := g
		for ; ; at = at.before {
			if _, ok := numbers[at]; ok {
				break
			}
			path = append(path, at)
		}
		for _, at := range slices.Backward(path) {
			numbers[at] = len(segments)
			segments = append(segments, at)
		}
		return numbers[g]
	}
	for _, w := range s.workers {
		random, err := w.pcg.MarshalBinary()
		if err != nil {
			return err
		}
		out.Workers = append(out.Workers, savedWorker{w.begun, w.opening, w.red, number(w.prefix),
			w.transitions, w.full, w.reduced, random})
	}
	for _, h := range s.pool.queue {
		out.Queue = append(out.Queue, savedHanded{h.v.ref, h.v.at, h.entered, number(h.prefix)})
	}
	for _, g := range segments[1:] {
		out.Segments = append(out.Segments, numbers[g.before])
	}
	if s.whole != nil {
		out.Sets = s.whole.sets
	}
	if err := engine.WriteRecord(w, &out); err != nil {
		return err
	}
	if err := checkpoint.SaveStore(w, c.store, &c.mark); err != nil {
		return err
	}
	a := &archive{w: bufio.NewWriter(w)}
	a.colors(s.colors)
	for _, w := range s.workers {
		a.worker(w)
	}
	for _, g := range segments[1:] {
		a.vertices(&g.path)
	}
	if s.whole != nil {
		a.whole(s.whole)
	}
	if a.err != nil {
		return a.err
	}
	return a.w.Flush()
}

// resume restores the search that save has written. c.store exists, and s is prepared for at
// least as many workers.
func (c *checker) resume(s *exploration) error {
	from := c.keeping.from
	automaton, err := json.Marshal(s.a)
	if err != nil {
		return err
	}
	if !bytes.Equal(automaton, from.Automaton) {
		return engine.Unreadable(errors.New("its automaton differs"))
	}
	s.count.Store(from.Count)
	if f := from.Fault; f != nil {
		s.fault = &fault{f.Path, f.Thread, f.Alt, f.Violation}
	}
	a := &archive{r: bufio.NewReader(c.keeping.c.From)}
	old := s.colors
	if n := len(from.Workers); n != len(s.workers) {
		old = newColors(s.colors.fields, s.vertices(), s.eachOf(n), 0)
	}
	a.colors(old)
	if a.err == nil && old != s.colors {
		s.recolor(old, len(from.Workers))
	}
	for i, f := range from.Workers {
		w := s.workers[i]
		w.begun, w.opening, w.red = f.Begun, f.Opening, f.Red
		w.transitions, w.full, w.reduced = f.Transitions, f.Full, f.Reduced
		if err := w.pcg.UnmarshalBinary(f.Random); err != nil {
			return engine.Unreadable(err)
		}
		a.worker(w)
		if a.err == nil && w.impossible(s) {
			a.fail("a stack")
		}
	}
	segments := a.segments(from)
	for i, f := range from.Workers {
		s.workers[i].prefix = a.segment(segments, f.Prefix)
	}
	for _, h := range from.Queue {
		s.pool.queue = append(s.pool.queue, handed{vertex{h.Ref, h.At}, h.Entered,
			a.segment(segments, h.Prefix)})
	}
	if s.whole != nil {
		for _, set := range from.Sets {
			s.whole.enabled(set)
		}
		a.whole(s.whole)
		if a.err == nil {
			s.whole.accept(s)
		}
	}
	if a.err != nil {
		return engine.Unreadable(a.err)
	}
	if err := engine.AtEnd(a.r); err != nil {
		return err
	}
	if s.budget > 0 && s.bytes() > s.budget {
		return errNoRoom
	}
	return nil
}

// impossible reports whether what was read of a worker cannot have been written.
func (w *worker) impossible(s *exploration) bool {
	return w.red < -1 || w.red > w.stack.n || w.opening && s.whole == nil && w.stack.n == 0
}

// segments reads the paths that were handed over; each may continue an earlier one. Number 0 is
// the empty one.
func (a *archive) segments(from *saved) []*segment {
	segments := []*segment{nil}
	for _, before := range from.Segments {
		g := &segment{before: a.segment(segments, before)}
		if a.err != nil {
			break
		}
		a.vertices(&g.path)
		segments = append(segments, g)
	}
	return segments
}

func (a *archive) segment(segments []*segment, n int) *segment {
	if n < 0 || n >= len(segments) {
		a.fail("a path")
		return nil
	}
	return segments[n]
}

// errNoRoom refuses a checkpoint that is too large.
var errNoRoom = &engine.OptionError{Message: "the checkpoint needs more memory than -max-memory " +
	"allows"}

// recolor takes over the colors of a search with fewer workers, n.
func (s *exploration) recolor(old *colors, n int) {
	was := &exploration{nested: s.nested, pinks: s.pinks, workers: make([]*worker, n), colors: old}
	vertices := uint32(s.vertices())
	for i := range old.shards {
		slots := old.tables[i].Load().slots
		for at := 0; at < len(slots); at += old.words {
			o := entry{words: slots[at : at+old.words]}
			if free(o.words) {
				continue
			}
			e := s.colors.lockHash(uint64(i)<<keyBits | keyOf(o.words))
			e.set(0, old.fields, o.get(0, old.fields))
			move := func(from, to int) {
				if o.has(from) {
					e.mark(to)
				}
			}
			for v := range vertices {
				b, t := was.bit(v), s.bit(v)
				move(b+blue, t+blue)
				if s.nested {
					move(b+was.red(), t+s.red())
				}
				for w := range n {
					move(b+was.cyan(w), t+s.cyan(w))
					if s.nested {
						move(b+was.pink(w), t+s.pink(w))
					}
				}
			}
			e.unlock()
		}
	}
}

// archive writes or reads what is not JSON: the same code defines content and order for both.
// After an error it does nothing.
type archive struct {
	w   *bufio.Writer // nil: it reads
	r   *bufio.Reader
	err error
	buf [1 << 12]byte
}

func (a *archive) fail(what string) {
	if a.err == nil {
		a.err = fmt.Errorf("%s that cannot be", what)
	}
}

// words are words whose number is known.
func (a *archive) words(p []uint32) {
	for len(p) > 0 && a.err == nil {
		n := min(len(p), len(a.buf)/4)
		b := a.buf[:4*n]
		if a.w == nil {
			if _, a.err = io.ReadFull(a.r, b); a.err != nil {
				return
			}
			for i := range n {
				p[i] = binary.LittleEndian.Uint32(b[4*i:])
			}
		} else {
			for i, v := range p[:n] {
				binary.LittleEndian.PutUint32(b[4*i:], v)
			}
			_, a.err = a.w.Write(b)
		}
		p = p[n:]
	}
}

// number is a number that is not negative.
func number[T ~int | ~uint64](a *archive, p *T) {
	v := [2]uint32{uint32(uint64(*p)), uint32(uint64(*p) >> 32)}
	a.words(v[:])
	if a.err == nil {
		*p = T(uint64(v[0]) | uint64(v[1])<<32)
	}
}

// length is the number of things that follow.
func (a *archive) length(n *int) {
	number(a, n)
	if *n < 0 || *n > 1<<40 {
		a.fail("a length")
	}
	if a.err != nil {
		*n = 0
	}
}

// colors is a table of colors, without its free places.
func (a *archive) colors(c *colors) {
	var entries []uint32
	for i := range c.shards {
		s, t := &c.shards[i], c.tables[i].Load()
		size, used := int(t.size), int(s.used)
		a.length(&size)
		a.length(&used)
		if a.err == nil && used >= size {
			a.fail("a number of colors")
		}
		if a.err != nil {
			return
		}
		entries = entries[:0]
		if a.w != nil {
			for at := 0; at < len(t.slots); at += c.words {
				if e := t.slots[at : at+c.words]; !free(e) {
					entries = append(entries, e...)
				}
			}
			a.words(entries)
			continue
		}
		c.held.Add(-int64(4 * len(t.slots)))
		t = c.alloc(i, uint64(size))
		entries = slices.Grow(entries, used*c.words)[:used*c.words]
		a.words(entries)
		for at := 0; at < len(entries) && a.err == nil; at += c.words {
			e := entries[at : at+c.words]
			if free(e) {
				a.fail("a color")
				return
			}
			to, _ := c.find(t, keyOf(e))
			copy(to, e)
		}
		s.used = uint64(used)
	}
}

// worker are a worker's piles.
func (a *archive) worker(w *worker) {
	n := w.stack.n
	a.length(&n)
	for i := range n {
		var v visit
		if a.w != nil {
			v = *w.stack.at(i)
		}
		words := [4]uint32{uint32(v.ref), uint32(v.ref >> 32), v.at, v.left}
		if a.words(words[:]); a.err != nil {
			return
		}
		if a.w == nil {
			w.grown(w.stack.push(visit{statestore.Ref(uint64(words[0]) | uint64(words[1])<<32),
				words[2], words[3]}))
		}
	}
	for _, p := range []*pile[packed]{&w.succ, &w.pinks} {
		n := p.n
		a.length(&n)
		for i := range n {
			var v packed
			if a.w != nil {
				v = *p.at(i)
			}
			if a.words(v[:]); a.err != nil {
				return
			}
			if a.w == nil {
				w.grown(p.push(v))
			}
		}
	}
}

// vertices is a list of vertices.
func (a *archive) vertices(vs *[]vertex) {
	n := len(*vs)
	a.length(&n)
	for i := range n {
		var v packed
		if a.w != nil {
			v = pack((*vs)[i])
		}
		if a.words(v[:]); a.err != nil {
			return
		}
		if a.w == nil {
			*vs = append(*vs, v.vertex())
		}
	}
}

// ints is a list of numbers from -1 on.
func ints[T ~int | ~int32](a *archive, p *[]T) {
	n := len(*p)
	a.length(&n)
	for i := range n {
		var v uint64
		if a.w != nil {
			v = uint64((*p)[i] + 1)
		}
		if number(a, &v); a.err != nil {
			return
		}
		if a.w == nil {
			*p = append(*p, T(v)-1)
		}
	}
}

// whole is a product.
func (a *archive) whole(g *whole) {
	a.vertices(&g.vertices)
	ints(a, &g.before)
	ints(a, &g.on)
	ints(a, &g.initial)
	ints(a, &g.from)
	n := len(g.arcs)
	a.length(&n)
	for i := range n {
		var out []arc
		if a.w != nil {
			out = g.arcs[i]
		}
		k := len(out)
		a.length(&k)
		for j := range k {
			var x arc
			if a.w != nil {
				x = out[j]
			}
			thread := x.thread + 1
			number(a, &x.to)
			number(a, &thread)
			number(a, &x.alt)
			if a.err != nil {
				return
			}
			if x.thread = thread - 1; x.to < 0 || x.to >= len(g.vertices) {
				a.fail("an arc")
				return
			}
			if a.w == nil {
				out = append(out, x)
			}
		}
		if a.w == nil {
			g.arcs = append(g.arcs, out)
		}
	}
	if a.err == nil && (len(g.before) != len(g.vertices) || len(g.on) != len(g.arcs) ||
		len(g.arcs) > len(g.vertices)) {
		a.fail("a product")
	}
}

// accept fills in what follows from the vertices and the arcs.
func (g *whole) accept(s *exploration) {
	for i, v := range g.vertices {
		g.index[v] = i
		g.accepting = append(g.accepting, s.accepting(v.at))
	}
	for _, out := range g.arcs {
		s.hold(out)
	}
}
