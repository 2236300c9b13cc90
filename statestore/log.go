package statestore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"cpor/internal/prefetch"
)

// The data that a store has about its states only grows: an entry of a table, a node and a record
// of a state never change. So a log that contains each once is complete, and saving a store again
// only adds what is new. The tables are rebuilt from the log, with the sizes that they had. Save
// writes these sizes, with the little that changes.
//
// The position of an entry shows whether it is in the log. In each line of a table, the kept
// entries come first, and a byte beside the line counts them. New entries follow, and when a slab
// grows, the kept ones are moved to the front again. So the count takes a byte per 64, and finding
// new entries takes one look at each line that is not full of kept ones. Nodes and records are kept
// up to a number.
//
// The log is a sequence of sections, where word, half and value are little-endian numbers of 64, 32
// and 64 bits, and all others uvarints of encoding/binary:
//
//	log     = { section } .
//	section = nodes | entries | short | records .
//	nodes   = "n" table from to { value } lost .      of the nodes from to to, inclusive
//	lost    = count { node } .                        of these: those that are in no table
//	entries = "e" shard count { word } .              of a table
//	short   = "s" shard count { half } .              of a Compact store
//	records = "r" chunk from to { word } .            of a Plain store; to is exclusive
const (
	sectionNodes   = 'n'
	sectionEntries = 'e'
	sectionShort   = 's'
	sectionRecords = 'r'
)

// SaveStates adds to a log the states that are not kept there, or writes all of them, to be read by
// RestoreStates. They are kept when Keep is called.
func SaveStates(s Store, w io.Writer, all bool) error {
	out := &stateWriter{w: w}
	s.(saved).writeStates(out, all)
	return out.err
}

// Keep notes that what SaveStates has written is in the log. No session may have worked since
// then.
func Keep(s Store) { s.(saved).keep() }

// RestoreStates reads a log into a store that Restore has made.
func RestoreStates(s Store, r io.Reader) error {
	in := &stateReader{r: bufio.NewReaderSize(r, 1<<16)}
	s.(saved).readStates(in)
	return in.err
}

// stateWriter writes sections. After an error it does nothing any more.
type stateWriter struct {
	w   io.Writer
	err error
	buf []byte
}

// section writes the head of a section.
func (w *stateWriter) section(kind byte, numbers ...uint64) {
	w.buf = append(w.buf[:0], kind)
	for _, n := range numbers {
		w.buf = binary.AppendUvarint(w.buf, n)
	}
	w.bytes(w.buf)
}

func (w *stateWriter) bytes(b []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

// stateReader reads sections. After an error it does nothing any more.
type stateReader struct {
	r   *bufio.Reader
	err error
	buf []uint64
}

// next returns the kind of the next section, 0 at the end and after an error.
func (r *stateReader) next() byte {
	if r.err != nil {
		return 0
	}
	kind, err := r.r.ReadByte()
	if err == io.EOF {
		return 0
	}
	r.err = err
	return kind
}

// number reads a number, which is at most most.
func (r *stateReader) number(most uint64) uint64 {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(r.r)
	if r.err = early(err); r.err == nil && n > most {
		r.wrong("a number that cannot be")
		return 0
	}
	return n
}

func (r *stateReader) bytes(b []byte) {
	if r.err == nil {
		_, err := io.ReadFull(r.r, b)
		r.err = early(err)
	}
}

func (r *stateReader) wrong(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("statestore: %s in the log of states", what)
	}
}

// early turns the end of the input within a section into the error that it is.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// asBytes are the bytes of numbers.
func asBytes[T uint32 | uint64](p []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p))),
		len(p)*int(unsafe.Sizeof(*new(T))))
}

func newKept(lines int) *[]uint8 {
	k := make([]uint8, lines)
	return &k
}

func keptBytes(kept *[]uint8) int {
	if kept == nil {
		return 0
	}
	return cap(*kept) + int(unsafe.Sizeof(*kept))
}

// keepFirst makes room for an entry that is kept in a line of that many slots that has been
// filled up to the slot at. It returns where.
func keepFirst[T uint32 | uint64](slots []T, kept *[]uint8, line, size, at uint64) uint64 {
	first := line*size + uint64((*kept)[line])
	(*kept)[line]++
	slots[at] = slots[first]
	return first
}

// appendNew adds to dst the entries of slots, in lines of that many, that are not kept, or all.
func appendNew[T uint32 | uint64](dst, slots []T, kept *[]uint8, line int, all bool) []T {
	all = all || kept == nil
	for k := 0; k < len(slots); k += line {
		from := 0
		if !all {
			from = int((*kept)[k/line])
		}
		for _, e := range slots[k+from : k+line] {
			if e == 0 {
				break
			}
			dst = append(dst, e)
		}
	}
	return dst
}

// keepAll notes that all entries of slots are kept.
func keepAll[T uint32 | uint64](slots []T, kept *[]uint8, line int) {
	for k := 0; k < len(slots); k += line {
		n := int((*kept)[k/line])
		for n < line && slots[k+n] != 0 {
			n++
		}
		(*kept)[k/line] = uint8(n)
	}
}

// place puts an entry into a slab that no one else uses. It returns false if e is not an entry, or
// is already there (with only set, also with another low part), or does not fit.
func (t *table) place(s *slab[uint64], e uint64, only bool) bool {
	if e&t.low == 0 {
		return false
	}
	lines := s.lines()
	i, _ := bits.Mul64(e&^t.low, lines)
	for range lines {
		line := (*[lineSlots]uint64)(s.slots[i*lineSlots:])
		for j := range line {
			if line[j] == 0 {
				line[j] = e
				(*s.kept)[i] = uint8(j + 1)
				s.count.Add(1)
				return true
			}
			if only && (line[j]^e)&^t.low == 0 || line[j] == e {
				return false
			}
		}
		if i++; i == lines {
			i = 0
		}
	}
	return false
}

// latest is [shards.latest].
func (n *nodes) latest(shard int) *index {
	x := n.index[shard].Load()
	if x != nil {
		for next := x.next.Load(); next != nil; next = x.next.Load() {
			x = next
		}
	}
	return x
}

// end returns the last number that can be assigned to a value.
func (n *nodes) end() uint32 { return min(n.last.Load(), n.room.Load()) }

// each calls f for the memory of the numbers from to last, piece by piece, each with its first
// number.
func (n *nodes) each(from, last uint32, f func(first uint32, values []uint64)) {
	for at := uint64(from); at <= uint64(last); {
		c, o := place(uint32(at))
		values := n.chunks[c][o:]
		values = values[:min(uint64(len(values)), uint64(last)-at+1)]
		f(uint32(at), values)
		at += uint64(len(values))
	}
}

func (n *nodes) writeStates(w *stateWriter, all bool) {
	from, to := n.kept+1, n.end()
	if all {
		from = 1
	}
	if from > to {
		return
	}
	w.section(sectionNodes, uint64(n.number), uint64(from), uint64(to))
	n.each(from, to, func(_ uint32, values []uint64) { w.bytes(asBytes(values)) })
	var lost []uint64
	for _, id := range n.lost {
		if id >= from && id <= to {
			lost = append(lost, uint64(id))
		}
	}
	w.buf = binary.AppendUvarint(w.buf[:0], uint64(len(lost)))
	for _, id := range lost {
		w.buf = binary.AppendUvarint(w.buf, id)
	}
	w.bytes(w.buf)
}

// readStates reads the rest of a section.
func (n *nodes) readStates(r *stateReader) {
	last := uint64(n.last.Load())
	from := r.number(last)
	to := r.number(last)
	if from != uint64(n.kept)+1 || to < from {
		r.wrong("a table of nodes that does not go on")
	}
	if r.err != nil {
		return
	}
	n.each(uint32(from), uint32(to), func(_ uint32, values []uint64) { r.bytes(asBytes(values)) })
	lost := map[uint32]bool{}
	for range r.number(last) {
		id := uint32(r.number(last))
		if r.err != nil {
			return
		}
		lost[id] = true
		n.lost = append(n.lost, id)
	}
	if !n.placeAll(uint32(from), uint32(to), lost) {
		r.wrong("a node that cannot be")
	}
	n.kept = uint32(to)
}

// placeAll puts the numbers from to last into the index, except those that are lost. It returns
// false if one of them is impossible. Nearly every number causes a cache miss, so memory is
// requested ahead, by several goroutines that each have their own shards.
func (n *nodes) placeAll(from, last uint32, lost map[uint32]bool) bool {
	const ahead, many = 16, 1 << 14
	share := func(which, of uint64) bool {
		good := true
		n.each(from, last, func(first uint32, values []uint64) {
			for i, v := range values {
				if i+ahead < len(values) {
					if h := hashNode(values[i+ahead]); h>>(64-indexShardBits)%of == which {
						n.touch(h)
					}
				}
				h, id := hashNode(v), first+uint32(i)
				if h>>(64-indexShardBits)%of == which && good && (len(lost) == 0 || !lost[id]) {
					good = n.place(id, v, h)
				}
			}
		})
		return good
	}
	of := 1
	if last-from > many {
		of = min(runtime.GOMAXPROCS(0), indexShards)
	}
	var wg sync.WaitGroup
	var bad atomic.Bool
	for which := range of {
		wg.Go(func() {
			if !share(uint64(which), uint64(of)) {
				bad.Store(true)
			}
		})
	}
	wg.Wait()
	return !bad.Load()
}

// touch begins to load the line of a hash into the cache.
func (n *nodes) touch(h uint64) {
	if x := n.index[h>>(64-indexShardBits)].Load(); x != nil {
		prefetch.Line(unsafe.Pointer(&x.slots[x.line(h)*indexSlots]))
	}
}

// place puts the number of a value with hash h into the index, which no one else uses. It returns
// false if the value already has a number, or if there is no room.
func (n *nodes) place(id uint32, v, h uint64) bool {
	x := n.index[h>>(64-indexShardBits)].Load()
	if x == nil {
		return false
	}
	mask := uint32(1)<<x.idBits - 1
	if id > mask {
		return false
	}
	i, tag := x.line(h), uint32(h)&^mask
	for range x.lines() {
		line := (*[indexSlots]uint32)(x.slots[i*indexSlots:])
		for j, e := range line {
			if e == 0 {
				line[j] = tag | id
				x.count.Add(1)
				return true
			}
			if (e^tag)&^mask == 0 && n.value(e&mask) == v {
				return false
			}
		}
		if i++; i == x.lines() {
			i = 0
		}
	}
	return false
}

// writeStates implements saved.
func (t *treeStore) writeStates(w *stateWriter, all bool) {
	t.mu.Lock()
	tables := t.allNodes()
	for _, n := range tables {
		n.mu.Lock()
		for _, x := range t.sessions {
			// A session may have taken a number for a value that another session numbered first.
			// Such a number would get another value when the log already has it.
			if spare := &x.spare[n.number]; *spare != 0 {
				n.lost = append(n.lost, *spare)
				*spare = 0
			}
		}
		n.mu.Unlock()
	}
	t.mu.Unlock()
	for _, n := range tables {
		n.writeStates(w, all)
	}
	t.table.writeEntries(w, sectionEntries, all)
}

// keep implements saved.
func (t *treeStore) keep() {
	t.mu.Lock()
	for _, n := range t.allNodes() {
		n.kept = n.end()
	}
	t.mu.Unlock()
	t.table.keep()
}

// readStates implements saved.
func (t *treeStore) readStates(r *stateReader) {
	var tables [maxTables]*nodes
	for _, n := range t.allNodes() {
		tables[n.number] = n
	}
	have := uint64(0)
	for kind := r.next(); kind != 0; kind = r.next() {
		switch kind {
		case sectionNodes:
			if n := tables[r.number(maxTables-1)]; n != nil {
				n.readStates(r)
			} else {
				r.wrong("a table of nodes that there is not")
			}
		case sectionEntries:
			have += t.table.readEntries(r, &r.buf, func(s *slab[uint64], e uint64) bool {
				return t.table.place(s, e, true)
			})
		default:
			r.wrong("a section of another store")
		}
	}
	for _, n := range t.allNodes() {
		if n.kept != n.last.Load() {
			r.wrong("not all of a table of nodes")
		}
	}
	t.shapes.Range(func(_, s any) bool {
		if sh := s.(*shape); !sh.learned.Load() {
			have += uint64(len(sh.samples.parents))
		}
		return true
	})
	if have < t.Len() {
		r.wrong("not all of the states")
	}
}

// leave notes how far all chunks are filled, and returns it.
func (p *plainStore) leave() []uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.sessions {
		x.leave()
	}
	return p.arena.used
}

// writeStates implements saved.
func (p *plainStore) writeStates(w *stateWriter, all bool) {
	for i, to := range p.leave() {
		from := uint32(0)
		if !all && i < len(p.arena.kept) {
			from = p.arena.kept[i]
		}
		if from < to {
			w.section(sectionRecords, uint64(i), uint64(from), uint64(to))
			w.bytes(asBytes((*p.arena.chunks.Load())[i][from:to]))
		}
	}
}

// keep implements saved.
func (p *plainStore) keep() { p.arena.kept = append(p.arena.kept[:0], p.leave()...) }

// readStates implements saved.
func (p *plainStore) readStates(r *stateReader) {
	chunks, kept := p.readRecords(r)
	if r.err != nil {
		return
	}
	p.arena.kept = kept
	// Nearly every entry takes a cache miss, so memory is prefetched some entries ahead.
	var waiting [16]struct {
		s *slab[uint64]
		e uint64
	}
	have := uint64(0)
	place := func(s *slab[uint64], e uint64) bool {
		w := &waiting[have%uint64(len(waiting))]
		good := w.s == nil || p.table.place(w.s, w.e, false)
		w.s, w.e = s, e
		have++
		return good
	}
	for i, c := range chunks {
		if int(kept[i]) != len(c) {
			r.wrong("not all of a chunk")
			return
		}
		for at := uint64(0); at < uint64(len(c)); {
			if at+recordWords > uint64(len(c)) || c[at+1] > uint64(len(c))-at-recordWords ||
				at >= chunkWords {
				r.wrong("a state that cannot be")
				return
			}
			end := at + recordWords + c[at+1]
			shard, e := p.entry(c[at+recordWords : end])
			s := p.table.dir[shard].Load()
			if s != nil {
				p.table.touch(shard, e)
			}
			if s == nil || !place(s, e|((uint64(i)+1)<<chunkShift|at)) {
				r.wrong("a state that cannot be")
				return
			}
			at = end
		}
	}
	states := have
	for range waiting {
		if !place(nil, 0) {
			r.wrong("a state that cannot be")
			return
		}
	}
	if states < p.Len() {
		r.wrong("not all of the states")
	}
}

// readRecords reads the chunks of records, and returns them with how much of each was read.
func (p *plainStore) readRecords(r *stateReader) (chunks [][]uint64, kept []uint32) {
	if c := p.arena.chunks.Load(); c != nil {
		chunks = *c
	}
	kept = make([]uint32, len(chunks))
	for kind := r.next(); kind != 0; kind = r.next() {
		if kind != sectionRecords || len(chunks) == 0 {
			r.wrong("a section of another store")
			return nil, nil
		}
		i := r.number(uint64(len(chunks) - 1))
		from := r.number(uint64(len(chunks[i])))
		to := r.number(uint64(len(chunks[i])))
		if r.err == nil && (from != uint64(kept[i]) || to < from) {
			r.wrong("a chunk that does not go on")
		}
		if r.err != nil {
			return nil, nil
		}
		r.bytes(asBytes(chunks[i][from:to]))
		kept[i] = uint32(to)
	}
	return chunks, kept
}

// writeStates implements saved.
func (c *compactStore) writeStates(w *stateWriter, all bool) {
	c.writeEntries(w, sectionShort, all)
}

// readStates implements saved.
func (c *compactStore) readStates(r *stateReader) {
	var buf []uint32
	have := uint64(0)
	for kind := r.next(); kind != 0; kind = r.next() {
		if kind != sectionShort {
			r.wrong("a section of another store")
			return
		}
		have += c.readEntries(r, &buf, placeShort)
	}
	if r.err == nil && have < c.Len() {
		r.wrong("not all of the states")
	}
}

// placeShort is [table.place].
func placeShort(s *slab[uint32], e uint32) bool {
	if e < shortFirst {
		return false
	}
	lines := s.lines()
	i := shortLineOf(s, e)
	for range lines {
		line := (*[shortLine]uint32)(s.slots[i*shortLine:])
		for j := range line {
			if line[j] == 0 {
				line[j] = e
				(*s.kept)[i] = uint8(j + 1)
				s.count.Add(1)
				return true
			}
			if line[j] == e {
				return false
			}
		}
		if i++; i == lines {
			i = 0
		}
	}
	return false
}

// writeStates implements saved. Save has written all the bits, because they change everywhere.
func (b *bitstateStore) writeStates(*stateWriter, bool) {}

// keep implements saved.
func (b *bitstateStore) keep() {}

// readStates implements saved.
func (b *bitstateStore) readStates(r *stateReader) {
	if r.next() != 0 {
		r.err = errors.New("statestore: a log of states of another store")
	}
}
