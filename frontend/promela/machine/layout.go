package machine

import (
	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/system"
)

// scalar is where a scalar is in its region: a word from the region's first,
// and the bits in it.
type scalar struct {
	word     int32
	up, down uint8 // shifts that bring the value to the top of a word and down again
	shift    uint8
	signed   bool
	mask     uint64 // in place
}

func (l *scalar) get(w uint64) int32 {
	if l.signed {
		return int32(int64(w<<(l.up&63)) >> (l.down & 63))
	}
	return int32(w << (l.up & 63) >> (l.down & 63))
}

// The first word of the globals: what a state has besides variables.
const (
	nprocShift = 0  // 8 bits: the number of processes
	lastShift  = 8  // 8 bits: _last
	claimShift = 16 // 16 bits: the state of the never claim
	traceShift = 32 // 16 bits: the state of the event trace
	globalBits = 48
)

// The first word of a process.
const (
	procShift  = 0  // 8 bits: its type
	pcShift    = 8  // 16 bits: its control state
	prioShift  = 24 // 8 bits: its priority, if the model has priorities
	processBit = 32

	pcMask = 0xffff << pcShift
)

// region is the layout of the globals or of a process type.
type region struct {
	*program.Region
	scalars []scalar
	words   int
}

func layOut(r *program.Region, at int) region {
	out := region{Region: r}
	for _, s := range r.Scalars {
		bits := s.Type.Bits
		if at%64+bits > 64 {
			at = (at/64 + 1) * 64
		}
		l := scalar{word: int32(at / 64), shift: uint8(at % 64), signed: s.Type.Signed}
		l.up, l.down = uint8(64-bits-at%64), uint8(64-bits)
		l.mask = (1<<uint(bits) - 1) << l.shift
		out.scalars = append(out.scalars, l)
		at += bits
	}
	out.words = (at + 63) / 64
	return out
}

// channel is a channel of a region.
type channel struct {
	*program.Channel
	scalars []scalar // the length, then the messages
}

func channels(r *region) []*channel {
	var out []*channel
	for _, c := range r.Chans {
		n := 1 + c.Cap*len(c.Fields)
		if c.Cap == 0 {
			n = 0
		}
		out = append(out, &channel{c, r.scalars[c.Base : c.Base+n]})
	}
	return out
}

func position(p syntax.Pos) system.Pos {
	if !p.IsValid() {
		return system.Pos{}
	}
	line, col := p.Line()
	return system.Pos{File: p.File.Name, Line: line, Col: col}
}
