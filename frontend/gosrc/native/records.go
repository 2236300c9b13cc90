package native

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// records reads records (see process). A record is valid until the next one is read.
type records struct {
	from  io.Reader
	bytes []byte   // what was read last
	words []uint32 // what was read, as words
	at    int      // the next word
	part  int      // so many bytes of the next word have come, at the beginning of bytes
}

func newRecords(from io.Reader) *records {
	return &records{from: from, bytes: make([]byte, 1<<16)}
}

// next reads a record.
func (r *records) next() (kind uint32, rec []uint32, err error) {
	if err := r.need(1); err != nil {
		return 0, nil, err
	}
	head := r.words[r.at]
	n := int(head >> 4)
	if n == 0 {
		return 0, nil, fmt.Errorf("a record of no words")
	}
	if err := r.need(n); err != nil {
		return 0, nil, err
	}
	rec = r.words[r.at+1 : r.at+n]
	r.at += n
	return head & 15, rec, nil
}

// need reads until there are so many words from at on.
func (r *records) need(n int) error {
	if len(r.words)-r.at >= n {
		return nil
	}
	r.words = slices.Delete(r.words, 0, r.at)
	r.at = 0
	for len(r.words) < n {
		k, err := r.from.Read(r.bytes[r.part:])
		if k == 0 && err != nil {
			return err
		}
		got := r.part + k
		for b := r.bytes[:got&^3]; len(b) > 0; b = b[4:] {
			r.words = append(r.words, binary.LittleEndian.Uint32(b))
		}
		r.part = copy(r.bytes, r.bytes[got&^3:got])
	}
	return nil
}
