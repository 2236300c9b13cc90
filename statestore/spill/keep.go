package spill

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// Kept is a file that does not change any more, as a checkpoint names it. The file is kept
// beside the checkpoint: Keep brings it there, Set.Restore and RestoreQueue back.
type Kept struct {
	ID   uint64 // its number in the directory
	Size int64  // bytes
	Sum  uint64 // of the headers of its blocks, which have the sums of the rest
}

// name is its name beside a checkpoint. It has the sum, since searches that begin again give the
// same numbers again while the last checkpoint of another one is still good.
func (k Kept) name() string { return fmt.Sprintf("cpor-%d-%016x.spill", k.ID, k.Sum) }

var keptName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^cpor-[0-9]+-[0-9a-f]{16}\.spill(\.new)?$`)
})

func (f *file) kept() Kept { return Kept{f.id, f.size, f.all.Sum64()} }

// Keep brings a file into another directory, as a second name of it if that is possible and as
// a copy otherwise, and waits until it is on the disk. It may be called while others use d, between
// Hold and Release.
func (d *Dir) Keep(k Kept, to string) error {
	from, name := d.name(k.ID), filepath.Join(to, k.name())
	was, err := os.Stat(from)
	if err != nil {
		return err
	}
	if is, err := os.Stat(name); err != nil || !os.SameFile(was, is) {
		os.Remove(name + ".new")
		if err := bring(from, name+".new"); err != nil {
			return err
		}
		if err := os.Rename(name+".new", name); err != nil {
			return err
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// bring makes a second name of a file, or a copy if the system cannot.
func bring(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(to)
	}
	return err
}

// KeepOnly removes from a directory what Keep has brought there, but for some files.
func KeepOnly(dir string, files []Kept) error {
	keep := map[string]bool{}
	for _, k := range files {
		keep[k.name()] = true
	}
	all, err := os.ReadDir(dir)
	for _, f := range all {
		if keptName().MatchString(f.Name()) && !keep[f.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(dir, f.Name())))
		}
	}
	return err
}

// RankDir is where a rank brings its files to: its own part of a directory that all
// ranks see. It is made when there is something to bring.
func RankDir(dir string, rank int) string {
	return filepath.Join(dir,
		fmt.Sprintf("rank-%d", rank))
}

// KeepRanks removes from a directory what ranks with these and higher numbers have brought there.
func KeepRanks(dir string, from int) error {
	all, err := os.ReadDir(dir)
	for _, f := range all {
		var rank int
		if n, _ := fmt.Sscanf(f.Name(), "rank-%d", &rank); n != 1 || rank < from || !f.IsDir() ||
			RankDir(dir, rank) != filepath.Join(dir, f.Name()) {
			continue
		}
		if kerr := KeepOnly(RankDir(dir, rank), nil); kerr != nil {
			err = errors.Join(err, kerr)
			continue
		}
		os.Remove(RankDir(dir, rank)) // stays if somebody has put something there
	}
	return err
}

// Hold lets files that are removed stay until Release.
func (d *Dir) Hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holding = true
}

// Release removes what was to be removed since Hold.
func (d *Dir) Release() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holding = false
	for _, f := range d.held {
		d.size.Add(-f.bytes)
		err = errors.Join(err, os.Remove(f.name))
	}
	d.held = nil
	return err
}

// held is a file that is to be removed.
type held struct {
	name  string
	bytes int64
}

// fetch brings a file back that Keep has brought to a directory, and reads all of it: what is
// damaged, or another file than the checkpoint names, is refused. block is called for each block.
func (d *Dir) fetch(ctx context.Context, k Kept, from string,
	block func(at int64, b []byte) error) (*file, error) {
	path := filepath.Join(from, k.name())
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() != k.Size {
		return nil, &Damaged{path, min(st.Size(), k.Size),
			fmt.Sprintf("it has %d bytes instead of %d", st.Size(), k.Size)}
	}
	f := &file{File: in, id: k.ID, size: k.Size, write: d.write}
	var buf []byte
	for at, n := int64(0), uint32(0); at < k.Size; n++ {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if buf, err = f.read(at, n, buf); err != nil {
			return nil, err
		}
		f.all.Write(buf[:headerBytes])
		if err := block(at, buf[headerBytes:]); err != nil {
			return nil, err
		}
		at += int64(len(buf))
	}
	if f.kept() != k {
		return nil, &Damaged{path, 0, "it is not the file that the checkpoint names"}
	}
	name := d.name(k.ID)
	if err := bring(path, name); err != nil {
		return nil, err
	}
	if f.File, err = os.Open(name); err != nil {
		return nil, err
	}
	d.wrote(f)
	d.written.Add(-f.size)
	for last := d.numbers.Load(); k.ID > last && k.ID>>fileBits == last>>fileBits &&
		!d.numbers.CompareAndSwap(last, k.ID); {
		last = d.numbers.Load()
	}
	return f, nil
}

// Kept returns the files of the set, by shard, the oldest first. They stay what they are
// until a state is added or runs are merged.
func (s *Set) Kept() (files [Shards][]Kept) {
	for i := range s.shards {
		for _, r := range s.shards[i].runs {
			files[i] = append(files[i], r.f.kept())
		}
	}
	return files
}

// Restore adds to a set files that Keep has brought to a directory, those that it has not yet.
// The error is a *Damaged one, ctx's cause, or what the system said. A state may be in several
// of them.
func (s *Set) Restore(ctx context.Context, from string, files [Shards][]Kept) error {
	for i := range files {
		for _, k := range files[i] {
			if slices.ContainsFunc(s.shards[i].runs, func(r *run) bool { return r.f.kept() == k }) {
				continue
			}
			r := &run{}
			f, err := s.dir.fetch(ctx, k, from, func(at int64, b []byte) error {
				hash, n := binary.Uvarint(b)
				if n <= 0 || Shard(hash) != i {
					return &Damaged{filepath.Join(from, k.name()), at,
						"its states belong elsewhere"}
				}
				r.first, r.at = append(r.first, hash), append(r.at, at)
				return nil
			})
			if err != nil {
				return err
			}
			r.f = f
			s.shards[i].runs = append(s.shards[i].runs, r)
		}
	}
	return nil
}

// KeptQueue is a queue as a checkpoint has it.
type KeptQueue struct {
	Segments []Kept // the oldest first
	Read     int64  // of the oldest: the byte from which on it has not been read
	Blocks   uint32 // before that
	Rest     []byte // of the block before it: what has not been taken
	Items    uint64
}

// Kept returns the queue as it is. Its files stay what they are.
func (q *Queue) Kept() (KeptQueue, error) {
	if n := len(q.segments); n > 0 && !q.segments[n-1].counted {
		last := q.segments[n-1]
		if err := last.w.flush(); err != nil {
			return KeptQueue{}, err
		}
		if err := q.settle(last); err != nil {
			return KeptQueue{}, err
		}
	}
	k := KeptQueue{Rest: q.rest, Items: q.items}
	for _, g := range q.segments {
		k.Segments = append(k.Segments, g.w.f.kept())
	}
	if len(q.segments) > 0 {
		k.Read, k.Blocks = q.segments[0].read, q.segments[0].blocks
	}
	return k, nil
}

// RestoreQueue returns the queue that Kept has described. Errors are those of Restore.
func RestoreQueue(ctx context.Context, d *Dir, from string, k KeptQueue) (*Queue, error) {
	q := &Queue{dir: d, rest: k.Rest, items: k.Items}
	for i, file := range k.Segments {
		f, err := d.fetch(ctx, file, from, func(int64, []byte) error { return nil })
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
		g := &segment{w: &writer{f: f}, counted: true, closed: true}
		if i == 0 {
			g.read, g.blocks = k.Read, k.Blocks
		}
		q.segments = append(q.segments, g)
	}
	return q, nil
}

// digest is an xxhash that is usable as it is.
type digest struct {
	xxhash.Digest
	begun bool
}

// Write adds bytes.
func (d *digest) Write(b []byte) {
	if !d.begun {
		d.Reset()
		d.begun = true
	}
	d.Digest.Write(b)
}
