package conform

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"slices"

	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/trace"
)

// walker holds a node as the live state of a machine and takes steps from there. Each goroutine
// of a search has its own.
type walker struct {
	log     *history
	mapping *Mapping
	m       system.Machine
	futures system.Futures // nil to explore all steps
	story   system.Narrating
	obs     system.Observers
	roles   *roles

	cut   []int32 // by host: mapped events
	taken int32   // their number
	// player is the thread of each host of which no rule says who plays it, -1 for none yet.
	player []int32

	words system.State
	bytes []byte
	deeds []deed
	moves []move
	shows map[system.Loc]bool // whether the log shows the variable
	// pending are the events that have not arrived, although the last node could have a step
	// that shows them.
	pending []place
	// partly counts the events that such steps show before the one that has not arrived.
	partly  int32
	showing int32 // of the step that is looked at
	steps   int
}

func newWalker(sys system.System, log *history, mp *Mapping, noReduction bool) (*walker, error) {
	w := &walker{log: log, mapping: mp, m: sys.NewMachine(), obs: system.ObserversOf(sys),
		shows: map[system.Loc]bool{}}
	caps, of := w.m.Capabilities(), sys.Capabilities()
	if w.story = caps.Narrating; w.story == nil {
		return nil, errors.New("the steps of this system do not say what they print or send")
	}
	if !noReduction && of.WhyIrreducible(false) == "" {
		w.futures = caps.Futures
	}
	if len(mp.Values) > 0 && caps.Showing == nil {
		return nil, errors.New("this system does not show the values of its variables")
	}
	w.m.Track(true)
	w.story.Narrate(true)
	w.roles = newRoles(mp, log, w.m)
	return w, nil
}

// begin makes an initial state the live node.
func (w *walker) begin(s system.State) {
	w.m.Load(s)
	w.cut = make([]int32, len(w.log.hosts))
	w.player = make([]int32, len(w.log.hosts))
	for h := range w.player {
		w.player[h] = -1
	}
	w.taken = 0
}

// place is the mapped event number k of a host, which has not arrived.
type place struct{ host, k int32 }

// node is a node that is kept as data.
type node struct {
	Words  system.State `json:"words"`
	Cut    []int32      `json:"cut"`
	Player []int32      `json:"player,omitempty"` // nil if rules say who plays each host
	taken  int32        // sum of Cut
	Silent int32        `json:"silent,omitempty"` // Monitor: cost of the steps since the last event
}

// load makes a node the live one.
func (w *walker) load(n *node) {
	w.m.Load(n.Words)
	copy(w.cut, n.Cut)
	if n.Player != nil {
		copy(w.player, n.Player)
	}
	w.taken = n.taken
}

// save returns the live node; its state is in w.words.
func (w *walker) save() *node {
	n := &node{Words: slices.Clone(w.words), Cut: slices.Clone(w.cut), taken: w.taken}
	if len(w.roles.open) > 0 {
		n.Player = slices.Clone(w.player)
	}
	return n
}

// key is a hash of a node.
type key [2]uint64

// key encodes the live node and returns its hash.
func (w *walker) key(seeds *[2]maphash.Seed) key {
	w.words = w.m.Encode(w.words)
	w.bytes = w.bytes[:0]
	for _, x := range w.words {
		w.bytes = binary.NativeEndian.AppendUint64(w.bytes, x)
	}
	for h, k := range w.cut {
		w.bytes = binary.NativeEndian.AppendUint32(w.bytes, uint32(k))
		w.bytes = binary.NativeEndian.AppendUint32(w.bytes, uint32(w.player[h]))
	}
	return key{maphash.Bytes(seeds[0], w.bytes), maphash.Bytes(seeds[1], w.bytes)}
}

func newSeeds() [2]maphash.Seed { return [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()} }

// taking is what a step has added to the live node.
type taking struct {
	hosts []int32 // of the events that it showed
	bound []int32 // that it has found players for
}

// take executes a move. Unless ok, the step does not fit; the caller undoes it in any case, with
// retreat and the machine's Rewind.
func (w *walker) take(mv move) (t taking, ok bool) {
	ok = w.execute(mv.Step).Kind == system.Moved
	for i := 0; i < len(w.deeds) && ok; i++ {
		d := &w.deeds[i]
		h := w.plays(d.thread)
		if h == undecided && len(t.bound) < len(mv.hosts) {
			h = mv.hosts[len(t.bound)]
			t.bound = mv.hosts[:len(t.bound)+1]
			w.player[h] = int32(d.thread)
		}
		var shown bool
		if shown, ok = w.fits(d, h); shown {
			w.cut[h]++
			w.taken++
			t.hosts = append(t.hosts, h)
		}
	}
	return t, ok
}

// retreat takes back what a step has added to the live node.
func (w *walker) retreat(t taking) {
	for _, h := range t.hosts {
		w.cut[h]--
		w.taken--
	}
	for _, h := range t.bound {
		w.player[h] = -1
	}
}

// successors calls add in each node that follows the live one, with the move to it and the hosts
// of the events that it shows; add reports whether the node is new. The moves are those of all
// threads, or those of one, if one of these leads to a new node (package comment). Afterwards
// w.pending has the events that the node waits for.
func (w *walker) successors(add func(mv move, shown []int32) bool) {
	var single bool
	w.moves, single = w.expand(w.moves[:0], 0)
	if w.follow(w.moves, add) && single {
		w.pending, w.partly = w.pending[:0], 0
	} else if single {
		w.moves, _ = w.all(w.moves[:0], 0, w.moves[0].Thread)
		w.follow(w.moves, add)
	}
}

// follow takes each of the moves and reports whether one leads to a new node.
func (w *walker) follow(moves []move, add func(mv move, shown []int32) bool) (fresh bool) {
	for _, mv := range moves {
		mark := w.m.Mark()
		t, ok := w.take(mv)
		if ok && add(mv, t.hosts) {
			fresh = true
		}
		w.retreat(t)
		w.m.Rewind(mark)
	}
	return fresh
}

// execute executes a step and notes its visible deeds.
func (w *walker) execute(st trace.Step) system.Outcome {
	w.steps++
	w.deeds = w.deeds[:0]
	out := w.m.Step(st.Thread, st.Alt)
	if out.Kind == system.Moved {
		story := w.story.Story()
		w.deeds = w.mapping.visible(w.deeds, &story, st.Thread)
	}
	return out
}

// plays returns the host that a thread of the live state plays: [nobody], [undecided], or
// [unlogged] if the log has no such host.
func (w *walker) plays(t int) int32 {
	if h := w.roles.of(w.m.ThreadName(t)); h != undecided {
		return h
	}
	for h, p := range w.player {
		if int(p) == t {
			return int32(h)
		}
	}
	return undecided
}

// next returns the next event of a host; nil if it has none, or none has arrived.
func (w *walker) next(h int32) *event { return w.log.hosts[h].at(w.cut[h]) }

// fits reports whether a deed by a thread that plays host h can happen after the present cut, and
// whether the log shows it.
func (w *walker) fits(d *deed, h int32) (shown, ok bool) {
	if h < 0 {
		return false, h == nobody
	}
	e := w.next(h)
	switch {
	case e != nil:
		ok = w.ready(e, h) && w.matches(e, d) == nil
		return ok, ok
	case !w.log.ended:
		if at := (place{h, w.cut[h]}); !slices.Contains(w.pending, at) {
			w.pending = append(w.pending, at)
		}
		return false, false
	}
	return false, w.log.hosts[h].lost
}

// ready reports whether the cut contains all that an event of host h depends on.
func (w *walker) ready(e *event, h int32) bool {
	for g := range w.cut {
		if int32(g) != h && w.lacks(e, int32(g)) && !sabotage.Is("conform/hosts") {
			return false
		}
	}
	return true
}

// lacks reports whether an event depends on one of host g that the cut does not contain.
func (w *walker) lacks(e *event, g int32) bool {
	next := w.next(g)
	return next != nil && next.Index <= e.Clock[g]
}
