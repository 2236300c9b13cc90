package machine

import (
	"slices"

	"cpor/system"
)

var _ system.Repeating = (*Machine)(nil)

// repeat is what a machine knows for system.Repeating.
type repeat struct {
	regimes map[string]int // by the types of all processes
	types   []uint8        // of the state that was asked for last
	base    []int32        // where the processes begin there
	regime  int            // its number
	tallies *system.Tallies
}

// Regime implements system.Repeating: the place of a process's variables follows from the types
// of the processes before it.
func (m *Machine) Regime(s system.State) int {
	r := &m.repeat
	if n := int(s[0] & 0xff); n == len(r.types) && n > 0 {
		same := true
		for t, at := range r.base {
			same = same && uint8(s[at]) == r.types[t]
		}
		if same {
			return r.regime
		}
	}
	r.types, r.base = r.types[:0], r.base[:0]
	at := m.sys.globals.words
	for range s[0] & 0xff {
		r.types, r.base = append(r.types, uint8(s[at])), append(r.base, int32(at))
		at += m.sys.procs[uint8(s[at])].lay.words
	}
	n, ok := r.regimes[string(r.types)]
	if !ok {
		if r.regimes == nil {
			r.regimes = map[string]int{}
		}
		n = len(r.regimes)
		r.regimes[string(r.types)] = n
	}
	r.regime = n
	return n
}

// maxNoted bounds the notes of a long step.
const maxNoted = 1 << 8

// notes are the bits of the state that a step has read, written and moved. It does not depend on
// what it wrote before reading it.
type notes struct {
	more    bool    // it depends on more, or changes more
	words   []noted // by word
	touched []int32 // words of which something is noted
	copies  []system.Copy
}

// noted is the note of a word.
type noted struct {
	read    uint64
	written uint64 // or moved to
	moved   uint64 // moved to, and not written since
}

// Learn implements system.Repeating.
func (m *Machine) Learn(on bool) { m.learn, m.watch = on, on || m.track }

// forgetNotes begins the notes of a step.
func (m *Machine) forgetNotes() {
	n := &m.notes
	if len(n.words) < len(m.words) {
		n.words = make([]noted, len(m.words))
		n.touched = n.touched[:0]
	}
	for _, w := range n.touched {
		n.words[w] = noted{}
	}
	n.touched, n.copies, n.more = n.touched[:0], n.copies[:0], false
}

// of returns the note of a word.
func (n *notes) of(word int32) *noted {
	if int(word) >= len(n.words) { // of a process that the step has created
		n.more = true
		return &noted{}
	}
	w := &n.words[word]
	if w.read|w.written == 0 {
		n.touched = append(n.touched, word)
	}
	return w
}

// saw records that the step reads bits of a word.
func (m *Machine) saw(word int32, mask uint64) {
	if !m.learn {
		return
	}
	n := &m.notes
	w := n.of(word)
	w.read |= mask &^ w.written
	if w.moved&mask != 0 {
		for i := range n.copies {
			if c := &n.copies[i]; c.To.Word == word && c.To.Mask&mask != 0 {
				from := c.Source()
				n.of(from.Word).read |= from.Mask
			}
		}
	}
}

// wrote records that the step writes bits of a word: a value that follows from what it has read.
func (m *Machine) wrote(word int32, mask uint64) {
	w := m.notes.of(word)
	w.written |= mask
	w.moved &^= mask
}

// moved records that the step copies a scalar from another one of the same region and type
// without reading its value.
func (m *Machine) moved(base int32, to, from *scalar) {
	n := &m.notes
	c := system.Copy{To: system.Bits{Word: base + to.word, Mask: to.mask}, From: base + from.word,
		Left: int(to.shift) - int(from.shift)}
	switch w := n.of(c.From); {
	case w.moved&from.mask != 0: // it has come from elsewhere itself
		for i := range n.copies {
			if d := &n.copies[i]; d.To.Word == c.From && d.To.Mask == from.mask {
				c.From, c.Left = d.From, c.Left+d.Left
				break
			}
		}
	case w.written&from.mask != 0:
		m.wrote(c.To.Word, to.mask)
		return
	}
	w := n.of(c.To.Word)
	if w.written&to.mask != 0 {
		n.copies = slices.DeleteFunc(n.copies, func(d system.Copy) bool { return d.To == c.To })
	}
	w.written |= to.mask
	w.moved |= to.mask
	n.more = n.more || len(n.copies) == maxNoted
	if !n.more {
		n.copies = append(n.copies, c)
	}
}

// Scope implements system.Repeating.
func (m *Machine) Scope(t int, sc *system.Scope) bool {
	sc.At, sc.Own = system.Bits{}, system.Bits{}
	sc.Reads, sc.Writes, sc.Copies = sc.Reads[:0], sc.Writes[:0], sc.Copies[:0]
	if t >= m.n {
		return false // not there, or not any more
	}
	n, at := &m.notes, m.base[t]
	sc.At = system.Bits{Word: at, Mask: pcMask}
	sc.Own = system.Bits{Word: at, Mask: ^uint64(0)}
	if n.more || m.viol != nil || len(n.touched) > maxNoted {
		return false
	}
	sc.Reads = append(sc.Reads, sc.At)
	for _, word := range n.touched {
		w := &n.words[word]
		if w.read != 0 {
			sc.Reads = append(sc.Reads, system.Bits{Word: word, Mask: w.read})
		}
		if set := w.written &^ w.moved; set != 0 {
			sc.Writes = append(sc.Writes, system.Bits{Word: word, Mask: set})
		}
	}
	for _, c := range n.copies {
		if n.words[c.To.Word].moved&c.To.Mask == 0 {
			continue // it was written afterwards
		}
		c.Left &= 63
		if k := len(sc.Copies) - 1; k >= 0 && sc.Copies[k].To.Word == c.To.Word &&
			sc.Copies[k].From == c.From && sc.Copies[k].Left == c.Left {
			sc.Copies[k].To.Mask |= c.To.Mask
			continue
		}
		sc.Copies = append(sc.Copies, c)
	}
	return true
}

// Tally implements system.Repeating.
func (m *Machine) Tally() (int, bool) {
	if len(m.came) > maxNoted {
		return 0, false
	}
	r := &m.repeat
	if r.tallies == nil {
		r.tallies = &system.Tallies{}
		m.sys.CountLater(func() { r.tallies.AddTo(m.seen) })
	}
	return r.tallies.Number(m.came)
}

// Repeat implements system.Repeating.
func (m *Machine) Repeat(tally int) {
	m.tellSeen()
	m.repeat.tallies.Repeat(tally)
}

// tellSeen publishes the counts if they were requested.
func (m *Machine) tellSeen() {
	if r := m.sys.Round(); r != m.round {
		m.round = r
		m.repeat.tallies.AddTo(m.seen)
		m.sys.Tell(m.seen)
	}
}
