// Package checkpoint writes the files from which a search can be resumed. A file is there
// completely or not at all, and damage is detected.
//
// A file begins with a magic line, followed by a sequence of blocks. Each block has its length, its
// number and a checksum of both and of its bytes (xxhash). The last one has the mark of its log:
//
//	checkpoint = "cpor checkpoint, format 3\n" { block } last .
//	block      = length number sum { byte } .     length bytes, at most 1 MiB
//	last       = length number sum mark .         length is 1<<31 + 28
//	mark       = id size blocks sums .            of the log; all 0 if there is none
//	log        = "cpor states, format 1\n" id { block } .
//
//	length, number, blocks = uint32 .             little-endian; number counts from 0
//	sum, id, size, sums    = uint64 .
//
// The bytes of all blocks of a checkpoint together are
//
//	content = size header body .          size is a uint64
//	header  = JSON .                      what is searched, of size bytes
//	body    = what the engine writes, with WriteRecord and SaveStore .
//
// A new file is written beside the old one, synced, and renamed over it. So after a power cut one
// of the two is there.
//
// The states of a search only grow. They are in a separate file, a log, to which each checkpoint
// adds what is new (see [Mark]). So the old and the new checkpoint share most of their data.
//
// The format is our own because a search waits while it is written, at the speed of memory, and it
// must be readable as a stream. It has no use for what archive formats add: names, indices,
// compression.
package checkpoint

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cespare/xxhash/v2"
	"github.com/gofrs/flock"
)

const (
	magic      = "cpor checkpoint, format 3\n"
	blockBytes = 1 << 20
	// A block's header: its length, its number, and the sum of both and of its
	// bytes.
	headerBytes = 4 + 4 + 8
	// lastBlock is added to the length of the last block of a checkpoint, which has a mark.
	lastBlock = 1 << 31
)

// name is the file's name in the directory of a search.
const name = "checkpoint"

// Dir is the directory in which a search keeps its checkpoints. Only one process
// has it at a time.
type Dir struct {
	path string
	lock *flock.Flock
}

// OpenDir opens a directory, which it creates if necessary, and removes logs that no checkpoint
// uses. It fails if another process uses the directory, or with the system's error.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("checkpoint directory: %w", err)
	}
	l := flock.New(filepath.Join(path, "lock"))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("checkpoint directory: %w", err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: another search is writing its checkpoints there", path)
	}
	d := &Dir{path, l}
	if err := d.sweepUnnamed(); err != nil {
		d.Close()
		return nil, fmt.Errorf("checkpoint directory: %w", err)
	}
	return d, nil
}

// sweepUnnamed removes the logs of searches that were killed before their checkpoint was
// complete. It removes none if it cannot be told which ones the files have that are there.
func (d *Dir) sweepUnnamed() error {
	files, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	var marks []Mark
	for _, f := range files {
		if part, of := 0, 0; f.Name() != name {
			if k, _ := fmt.Sscanf(f.Name(), "part-%d-of-checkpoint-%d", &part, &of); k != 2 {
				continue
			}
		}
		m, err := markOf(filepath.Join(d.path, f.Name()))
		if err != nil {
			return nil
		}
		marks = append(marks, m)
	}
	return sweepLogs(d.path, marks...)
}

// Close lets others have the directory.
func (d *Dir) Close() error { return d.lock.Close() }

// File is the path of the checkpoint.
func (d *Dir) File() string { return filepath.Join(d.path, name) }

// Pending is a checkpoint that is written and does not count yet.
type Pending struct {
	dir  *Dir
	file *os.File
	log  *logWriter // nil: nothing was added to one
	mark Mark
}

// Begin writes a checkpoint: the header as JSON, then what fill writes, to which it can
// [Append]. It counts from Commit on; until then the one before it does.
func (d *Dir) Begin(header any, fill func(w io.Writer) error) (*Pending, error) {
	p, err := begin(d.File()+".new", header, fill)
	if err != nil {
		return nil, err
	}
	p.dir = d
	return p, nil
}

// begin writes a file. If it fails nothing is left of it.
func begin(path string, header any, fill func(w io.Writer) error) (*Pending, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, failed(err)
	}
	w := &writer{w: f, buf: make([]byte, headerBytes, headerBytes+blockBytes),
		dir: filepath.Dir(path)}
	err = w.all(header, fill)
	p := &Pending{file: f, log: w.log, mark: w.has}
	if err != nil {
		p.GiveUp()
		return nil, failed(err)
	}
	return p, nil
}

// all writes a file.
func (w *writer) all(header any, fill func(w io.Writer) error) error {
	if _, err := io.WriteString(w.w, magic); err != nil {
		return err
	}
	head, err := json.Marshal(header)
	if err != nil {
		return err
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))); err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	if err := fill(w); err != nil {
		return err
	}
	return w.end()
}

// sync waits until the system has the file and its log on the disk, and closes them. If it fails
// nothing is left of the file.
func (p *Pending) sync() (err error) {
	if p.log != nil {
		err = p.log.sync()
		p.log = nil
	}
	if err == nil {
		err = p.file.Sync()
	}
	if cerr := p.file.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = SyncDir(filepath.Dir(p.file.Name())) // where a new log has a name
	}
	if err != nil {
		os.Remove(p.file.Name())
		return failed(err)
	}
	return nil
}

// partHeader begins a part.
type partHeader struct{ Checkpoint, Part int }

func partFile(dir string, n, part int) string {
	return filepath.Join(dir, fmt.Sprintf("part-%d-of-checkpoint-%d", part, n))
}

// WritePart writes a part of the n-th checkpoint of several processes into a directory
// that one of them has taken, and waits until the system has it on the disk. It counts
// when a checkpoint is committed that refers to it.
func WritePart(dir string, n, part int, fill func(w io.Writer) error) error {
	p, err := begin(partFile(dir, n, part), partHeader{n, part}, fill)
	if err != nil {
		return err
	}
	return p.sync()
}

// OpenPart opens a part of the n-th checkpoint. The errors are those of Open, or that the file is a
// different part.
func OpenPart(dir string, n, part int) (*Reader, error) {
	var h partHeader
	r, err := Open(partFile(dir, n, part), &h)
	if err != nil {
		return nil, err
	}
	if h != (partHeader{n, part}) {
		r.Close()
		return nil, fmt.Errorf("%s has part %d of checkpoint %d", r.path, h.Part, h.Checkpoint)
	}
	return r, nil
}

// Keep removes the parts of all checkpoints but the n-th, and the logs that its parts do not have.
func (d *Dir) Keep(n int) error {
	files, err := os.ReadDir(d.path)
	var marks []Mark
	for _, f := range files {
		path := filepath.Join(d.path, f.Name())
		var part, of int
		switch k, _ := fmt.Sscanf(f.Name(), "part-%d-of-checkpoint-%d", &part, &of); {
		case k != 2:
		case of != n:
			err = errors.Join(err, os.Remove(path))
		default:
			m, merr := markOf(path)
			if merr != nil {
				return errors.Join(err, merr) // which logs to keep is not known
			}
			marks = append(marks, m)
		}
	}
	return errors.Join(err, sweepLogs(d.path, marks...))
}

// markOf reads the mark in the last block of a file.
func markOf(path string) (Mark, error) {
	f, err := os.Open(path)
	if err != nil {
		return Mark{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Mark{}, err
	}
	b := make([]byte, headerBytes+markBytes)
	at := st.Size() - int64(len(b))
	if _, err := f.ReadAt(b, max(at, 0)); err != nil {
		return Mark{}, cut(err)
	}
	if binary.LittleEndian.Uint32(b) != lastBlock|markBytes || sum(b) != binary.LittleEndian.Uint64(
		b[8:]) {
		return Mark{}, &Damaged{path, at, "the checksum of a block is wrong"}
	}
	return parseMark(b[headerBytes:]), nil
}

// Commit makes a checkpoint the valid one: it waits until the data is on the disk, and renames the
// file.
func (p *Pending) Commit() error {
	if err := p.sync(); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), p.dir.File()); err != nil {
		return failed(err)
	}
	if err := SyncDir(p.dir.path); err != nil {
		return failed(err)
	}
	return nil
}

// Sweep removes the logs that the valid checkpoint does not use, and the parts of other
// checkpoints. Do not call it for a checkpoint with parts: see Keep.
func (p *Pending) Sweep() error {
	files, err := os.ReadDir(p.dir.path)
	for _, f := range files {
		var part, of int
		if k, _ := fmt.Sscanf(f.Name(), "part-%d-of-checkpoint-%d", &part, &of); k == 2 {
			err = errors.Join(err, os.Remove(filepath.Join(p.dir.path, f.Name())))
		}
	}
	return errors.Join(err, sweepLogs(p.dir.path, p.mark))
}

// GiveUp removes an unfinished checkpoint. What it added to a log stays for the next one, unless
// the log is new.
func (p *Pending) GiveUp() {
	switch {
	case p.log == nil:
	case p.log.made:
		p.log.undo()
	default:
		p.log.f.Close()
	}
	p.file.Close()
	os.Remove(p.file.Name())
}

func failed(err error) error { return fmt.Errorf("the checkpoint could not be written: %w", err) }

// SyncDir makes the names of files in a directory durable. Not every system can do that, which is
// not an error.
func SyncDir(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) &&
		!errors.Is(err, syscall.EINVAL) && !os.IsPermission(err) {
		return err
	}
	return nil
}

// writer writes blocks.
type writer struct {
	w      io.Writer
	buf    []byte // header and bytes of the block that is filled
	number uint32
	mark   *Mark // of a log: how far it goes

	// Of a checkpoint:
	dir string     // that of the log
	log *logWriter // what was added to
	has Mark       // how far its log goes
}

func (w *writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		k := min(len(p), cap(w.buf)-len(w.buf))
		w.buf = append(w.buf, p[:k]...)
		p, n = p[k:], n+k
		if len(w.buf) == cap(w.buf) {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush writes the block.
func (w *writer) flush() error {
	return w.block(uint32(len(w.buf) - headerBytes))
}

// block writes the block, with something as its length.
func (w *writer) block(length uint32) error {
	binary.LittleEndian.PutUint32(w.buf, length)
	binary.LittleEndian.PutUint32(w.buf[4:], w.number)
	s := sum(w.buf)
	binary.LittleEndian.PutUint64(w.buf[8:], s)
	w.number++
	if w.mark != nil {
		w.mark.add(len(w.buf), s)
	}
	_, err := w.w.Write(w.buf)
	w.buf = w.buf[:headerBytes]
	return err
}

// end writes the remaining data and the last block.
func (w *writer) end() error {
	if len(w.buf) > headerBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.buf = w.has.append(w.buf)
	return w.block(lastBlock | markBytes)
}

// sum is the checksum of a block.
func sum(b []byte) uint64 {
	var d xxhash.Digest
	d.Reset()
	d.Write(b[:8])
	d.Write(b[headerBytes:])
	return d.Sum64()
}

// Reader reads a checkpoint. Every block is checked before any of it is given out.
type Reader struct {
	path   string
	f      *os.File
	r      *bufio.Reader
	at     int64 // where the block stands that comes next
	number uint32
	block  []byte
	rest   []byte // of the block
	ended  bool

	// For a log: how far to read it, and how far it was read.
	log  *Mark
	seen Mark
}

// Damaged is the error for a file whose content is not what was written.
type Damaged struct {
	Path string
	At   int64 // the byte of the file where it is seen
	What string
}

func (e *Damaged) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s; it cannot be used", e.Path, e.At, e.What)
}

// Open opens the checkpoint of a directory, or the file itself, and reads its header into header.
// The error is a *Damaged, or says that the file is not a checkpoint, or is the system's.
func Open(path string, header any) (*Reader, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		path = filepath.Join(path, name)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{path: path, f: f, r: bufio.NewReaderSize(f, 1<<16)}
	if err := r.begin(header); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) begin(header any) error {
	got := make([]byte, len(magic))
	n, err := io.ReadFull(r.r, got)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	const kind = "cpor checkpoint, format "
	if string(got[:n]) != magic {
		if n >= len(kind) && string(got[:len(kind)]) == kind {
			return fmt.Errorf("%s was written by another version of cpor, in another format",
				r.path)
		}
		return fmt.Errorf("%s is not a cpor checkpoint", r.path)
	}
	r.at = int64(len(magic))
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return r.early(err)
	}
	size := binary.LittleEndian.Uint64(length[:])
	if size > 1<<30 {
		return &Damaged{r.path, r.at, "its header has an impossible length"}
	}
	head := make([]byte, size)
	if _, err := io.ReadFull(r, head); err != nil {
		return r.early(err)
	}
	if err := json.Unmarshal(head, header); err != nil {
		return fmt.Errorf("%s: its header cannot be read (%w): was it written by another version "+
			"of cpor?", r.path, err)
	}
	return nil
}

// early turns an end of the input that comes too early into the error that it is.
func (r *Reader) early(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &Damaged{r.path, r.at, "it ends too early"}
	}
	return err
}

// Read reads on. io.EOF comes only where the file was complete.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.ended {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next reads and checks the next block.
func (r *Reader) next() error {
	if r.block == nil {
		r.block = make([]byte, headerBytes+blockBytes)
	}
	if r.log != nil && r.seen.Length >= r.log.Length {
		if r.seen != *r.log {
			return &Damaged{r.path, r.at, "it is not what the checkpoint names"}
		}
		r.ended = true
		return nil
	}
	b := r.block[:headerBytes]
	if _, err := io.ReadFull(r.r, b); err != nil {
		return r.early(err)
	}
	size := binary.LittleEndian.Uint32(b)
	last := r.log == nil && size == lastBlock|markBytes
	if last {
		size = markBytes
	}
	if size > blockBytes {
		return &Damaged{r.path, r.at, "a block has an impossible length"}
	}
	b = r.block[:headerBytes+int(size)]
	if _, err := io.ReadFull(r.r, b[headerBytes:]); err != nil {
		return r.early(err)
	}
	if sum(b) != binary.LittleEndian.Uint64(b[8:]) {
		return &Damaged{r.path, r.at, "the checksum of a block is wrong"}
	}
	if binary.LittleEndian.Uint32(b[4:]) != r.number {
		return &Damaged{r.path, r.at, "a block is missing"}
	}
	r.number++
	r.at += int64(len(b))
	r.rest = b[headerBytes:]
	if r.log != nil {
		r.seen.add(len(b), binary.LittleEndian.Uint64(b[8:]))
	}
	if last {
		r.ended, r.rest = true, nil
		if _, err := r.r.ReadByte(); err != io.EOF {
			return &Damaged{r.path, r.at, "there is data after its end"}
		}
	}
	return nil
}

// Path is the file that is read.
func (r *Reader) Path() string { return r.path }

// Close closes the file.
func (r *Reader) Close() error { return r.f.Close() }
