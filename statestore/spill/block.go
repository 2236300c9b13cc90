package spill

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/cespare/xxhash/v2"
)

// The files of the directory. Numbers of blocks are little-endian, the others uvarints of
// encoding/binary:
//
//	file   = { block } .
//	block  = length number sum { record } .     length bytes of records
//	length, number = uint32 .                   number is from 0
//	sum    = uint64 .                           xxhash of the file's number and of the rest
//	record = entry | item .                     of a set, or of a queue
//	entry  = difference from state .            of the hash, from that of the entry before
//	from   = 5 bytes, the highest first .       the upper 40 bits of where the state came from
//	item   = depth state .
//	state  = size { word } .                    size words, which are uvarints

const (
	// blockBytes is when a block ends: the record that passes it is its last.
	blockBytes = 16 << 10
	// headerBytes are a block's length, its number, and a checksum of the file's number,
	// of both, and of the block's bytes.
	headerBytes = 4 + 4 + 8
	// mostBytes is the longest block that is believed: states have no bound.
	mostBytes = 1 << 30
)

// Damaged is the error for a file that has not what was written.
type Damaged struct {
	Path string
	At   int64 // the byte where the block begins
	What string
}

func (e *Damaged) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s", e.Path, e.At, e.What)
}

// file is a file of blocks.
type file struct {
	*os.File
	id    uint64 // its number in the directory
	size  int64
	all   digest // of the headers of its blocks
	write func(f *os.File, b []byte) (int, error)
}

// sum is the checksum of a block.
func (f *file) sum(b []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	var id [8]byte
	binary.LittleEndian.PutUint64(id[:], f.id)
	d.Write(id[:])
	d.Write(b[:8])
	d.Write(b[headerBytes:])
	return d.Sum64()
}

// writer appends blocks to a file.
type writer struct {
	f      *file
	buf    []byte // header and bytes of the block that is filled
	number uint32
}

func newWriter(f *file) *writer {
	return &writer{f: f, buf: make([]byte, headerBytes, headerBytes+blockBytes+blockBytes/8)}
}

// full reports whether the block is to be ended.
func (w *writer) full() bool { return len(w.buf) >= headerBytes+blockBytes }

// flush ends the block, if there is anything in it.
func (w *writer) flush() error {
	if len(w.buf) == headerBytes {
		return nil
	}
	binary.LittleEndian.PutUint32(w.buf, uint32(len(w.buf)-headerBytes))
	binary.LittleEndian.PutUint32(w.buf[4:], w.number)
	binary.LittleEndian.PutUint64(w.buf[8:], w.f.sum(w.buf))
	w.f.all.Write(w.buf[:headerBytes])
	n, err := w.f.write(w.f.File, w.buf)
	w.f.size += int64(n)
	w.buf = w.buf[:headerBytes]
	w.number++
	return err
}

// read reads the block with a number that begins at a byte, over buf. It returns it
// with its header.
func (f *file) read(at int64, number uint32, buf []byte) ([]byte, error) {
	damaged := func(what string) error { return &Damaged{f.Name(), at, what} }
	if cap(buf) < headerBytes+blockBytes {
		buf = make([]byte, headerBytes+blockBytes+blockBytes/8)
	}
	buf = buf[:cap(buf)]
	n, err := f.ReadAt(buf[:min(int64(len(buf)), f.size-at)], at)
	if n < headerBytes || n < int(min(int64(len(buf)), f.size-at)) {
		return nil, damaged(fmt.Sprintf("it ends too early (%v)", err))
	}
	size := binary.LittleEndian.Uint32(buf)
	if size > mostBytes || at+headerBytes+int64(size) > f.size {
		return nil, damaged("a block has an impossible length")
	}
	whole := headerBytes + int(size)
	if whole > len(buf) {
		buf = append(buf, make([]byte, whole-len(buf))...)
		if _, err := f.ReadAt(buf[n:whole], at+int64(n)); err != nil {
			return nil, damaged(fmt.Sprintf("it ends too early (%v)", err))
		}
	}
	b := buf[:whole]
	if f.sum(b) != binary.LittleEndian.Uint64(b[8:]) {
		return nil, damaged("the checksum of a block is wrong")
	}
	if binary.LittleEndian.Uint32(b[4:]) != number {
		return nil, damaged("a block is missing")
	}
	return b, nil
}

// appendState appends a state: its number of words, then each in a variable number of bytes.
func appendState(b []byte, s []uint64) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	for _, w := range s {
		b = binary.AppendUvarint(b, w)
	}
	return b
}

// cutState returns the bytes of the state with which b begins, and what stands behind;
// ok is false if there is none.
func cutState(b []byte) (s, rest []byte, ok bool) {
	words, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, nil, false
	}
	for ; words > 0; words-- {
		for n < len(b) && b[n] >= 0x80 {
			n++
		}
		if n++; n > len(b) {
			return nil, nil, false
		}
	}
	return b[:n], b[n:], true
}

// decodeState decodes over dst a state that cutState has returned.
func decodeState(b []byte, dst []uint64) []uint64 {
	_, n := binary.Uvarint(b)
	dst = dst[:0]
	for b = b[n:]; len(b) > 0; b = b[n:] {
		var w uint64
		w, n = binary.Uvarint(b)
		if n <= 0 {
			return dst // cannot be: the checksum was right
		}
		dst = append(dst, w)
	}
	return dst
}
