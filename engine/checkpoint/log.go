package checkpoint

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// A log holds the data that later checkpoints of a search share with earlier ones. It is a file
// beside them that only grows. A checkpoint adds what is new, and records the file, its valid
// length, and a checksum of that. What follows belongs to an unfinished checkpoint or to a later
// one. It is never read, and the next checkpoint overwrites it.
//
// The file begins with a line and its unique number, followed by a sequence of blocks like those of
// a checkpoint.

const (
	logMagic  = "cpor states, format 1\n"
	logHeader = len(logMagic) + 8
	markBytes = 8 + 8 + 4 + 8
)

// Mark says which log a checkpoint uses, and how far. The zero value is not a log.
type Mark struct {
	ID     uint64 // in its name
	Length int64  // bytes
	Blocks uint32
	Sum    uint64 // of the sums of the blocks, in order
}

func (m Mark) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, m.ID)
	b = binary.LittleEndian.AppendUint64(b, uint64(m.Length))
	b = binary.LittleEndian.AppendUint32(b, m.Blocks)
	return binary.LittleEndian.AppendUint64(b, m.Sum)
}

func parseMark(b []byte) Mark {
	return Mark{
		ID:     binary.LittleEndian.Uint64(b),
		Length: int64(binary.LittleEndian.Uint64(b[8:])),
		Blocks: binary.LittleEndian.Uint32(b[16:]),
		Sum:    binary.LittleEndian.Uint64(b[20:]),
	}
}

// add adds a block to a mark.
func (m *Mark) add(size int, sum uint64) {
	m.Length += int64(size)
	m.Blocks++
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], m.Sum)
	binary.LittleEndian.PutUint64(b[8:], sum)
	m.Sum = xxhash.Sum64(b[:])
}

// Appender is implemented by the writer of a checkpoint that can have a log beside it.
type Appender interface {
	// Append adds what fill writes to the log that is valid up to last. If there is no such log any
	// more, or last is the zero value, it begins a new one and passes true for again. It returns
	// the new valid length, which takes effect with the checkpoint. After an error the log is valid
	// up to last.
	Append(last Mark, fill func(w io.Writer, anew bool) error) (Mark, error)
}

// Opener is implemented by the reader of a checkpoint that can have a log beside it.
type Opener interface {
	// OpenLog opens a log up to its valid length. Its errors name the file.
	OpenLog(m Mark) (io.ReadCloser, error)
}

// How a checkpoint refers to a log.
const (
	inside  = 0 // its pieces, each with its length, and an empty one
	outside = 1 // a mark
)

// Append adds what fill writes to the log of a checkpoint; see [Appender]. If w is not an Appender,
// the data goes into the checkpoint itself, and the mark is the zero value.
func Append(w io.Writer, last Mark, fill func(w io.Writer, anew bool) error) (Mark, error) {
	a, ok := w.(Appender)
	if !ok {
		if _, err := w.Write([]byte{inside}); err != nil {
			return Mark{}, err
		}
		p := bufio.NewWriterSize(pieces{w}, 1<<16)
		if err := fill(p, true); err != nil {
			return Mark{}, err
		}
		if err := p.Flush(); err != nil {
			return Mark{}, err
		}
		_, err := w.Write(make([]byte, 4))
		return Mark{}, err
	}
	m, err := a.Append(last, fill)
	if err != nil {
		return Mark{}, err
	}
	_, err = w.Write(m.append([]byte{outside}))
	return m, err
}

// pieces writes each piece with its length.
type pieces struct{ w io.Writer }

func (p pieces) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if _, err := p.w.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(b)))); err != nil {
		return 0, err
	}
	return p.w.Write(b)
}

// Appended calls f with a reader of the log of the checkpoint that r reads, and returns the log's
// valid length.
func Appended(r io.Reader, f func(r io.Reader) error) (Mark, error) {
	var b [1 + markBytes]byte
	if _, err := io.ReadFull(r, b[:1]); err != nil {
		return Mark{}, err
	}
	switch b[0] {
	case inside:
		p := &unpieced{r: r}
		if err := f(p); err != nil {
			return Mark{}, err
		}
		_, err := io.Copy(io.Discard, p)
		return Mark{}, err
	case outside:
		if _, err := io.ReadFull(r, b[1:]); err != nil {
			return Mark{}, err
		}
		m := parseMark(b[1:])
		o, ok := r.(Opener)
		if !ok {
			return Mark{}, errors.New("a checkpoint without its log")
		}
		if m == (Mark{}) {
			return m, f(eof{})
		}
		l, err := o.OpenLog(m)
		if err != nil {
			return Mark{}, err
		}
		defer l.Close()
		if err := f(l); err != nil {
			return Mark{}, err
		}
		_, err = io.Copy(io.Discard, l) // must be complete
		return m, err
	}
	return Mark{}, errors.New("an impossible log")
}

// eof is an empty file.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// unpieced reads what pieces has written.
type unpieced struct {
	r    io.Reader
	left uint32
	end  bool
}

func (p *unpieced) Read(b []byte) (int, error) {
	for p.left == 0 {
		if p.end {
			return 0, io.EOF
		}
		var l [4]byte
		if _, err := io.ReadFull(p.r, l[:]); err != nil {
			return 0, cut(err)
		}
		p.left = binary.LittleEndian.Uint32(l[:])
		p.end = p.left == 0
	}
	n, err := p.r.Read(b[:min(uint64(len(b)), uint64(p.left))])
	p.left -= uint32(n)
	return n, cut(err)
}

// cut turns an end where there should be more into the error that it is.
func cut(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

func logFile(dir string, id uint64) string {
	return filepath.Join(dir, fmt.Sprintf("states-%016x", id))
}

var logName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^states-[0-9a-f]{16}$`)
})

// sweepLogs removes the logs of a directory but for some.
func sweepLogs(dir string, marks ...Mark) error {
	keep := map[string]bool{}
	for _, m := range marks {
		keep[logFile(dir, m.ID)] = true
	}
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if path := filepath.Join(dir, f.Name()); logName().MatchString(f.Name()) && !keep[path] {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// logWriter is a log that is written.
type logWriter struct {
	f    *os.File
	last Mark // where it continued
	now  Mark
	made bool
}

// openLog opens a log that is valid up to last and drops what follows, or creates one.
func openLog(dir string, last Mark) (*logWriter, error) {
	if last != (Mark{}) {
		if f, err := os.OpenFile(logFile(dir, last.ID), os.O_RDWR, 0); err == nil {
			if st, err := f.Stat(); err == nil && st.Size() >= last.Length &&
				checkLog(f, last.ID) == nil && f.Truncate(last.Length) == nil {
				if _, err := f.Seek(last.Length, io.SeekStart); err == nil {
					return &logWriter{f: f, last: last, now: last}, nil
				}
			}
			f.Close()
		}
	}
	id := rand.Uint64()
	f, err := os.OpenFile(logFile(dir, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	l := &logWriter{f: f, now: Mark{ID: id, Length: int64(logHeader), Sum: id}, made: true}
	if _, err := f.Write(binary.LittleEndian.AppendUint64([]byte(logMagic), id)); err != nil {
		l.undo()
		return nil, err
	}
	return l, nil
}

// checkLog reads the head of a log.
func checkLog(r io.Reader, id uint64) error {
	head := make([]byte, logHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		return cut(err)
	}
	if string(head[:len(logMagic)]) != logMagic ||
		binary.LittleEndian.Uint64(head[len(logMagic):]) != id {
		return errors.New("it is not the log of this checkpoint")
	}
	return nil
}

// undo lets the log go as far as before, and closes it. A log that was made for nothing is removed.
func (l *logWriter) undo() {
	if l.made {
		l.f.Close()
		os.Remove(l.f.Name())
		return
	}
	l.f.Truncate(l.last.Length) // if it fails, the next one does it
	l.f.Close()
}

// sync waits until the log is on the disk. If it cannot be sure, it shortens the log, so that
// nothing will be added to it.
func (l *logWriter) sync() error {
	err := l.f.Sync()
	if err != nil {
		l.undo()
		return err
	}
	return l.f.Close()
}

// Append implements [Appender].
func (w *writer) Append(last Mark, fill func(w io.Writer, anew bool) error) (Mark, error) {
	if w.log != nil {
		return Mark{}, errors.New("a checkpoint has one log")
	}
	l, err := openLog(w.dir, last)
	if err != nil {
		return Mark{}, err
	}
	blocks := &writer{w: l.f, buf: make([]byte, headerBytes, headerBytes+blockBytes),
		number: l.now.Blocks, mark: &l.now}
	err = fill(blocks, l.made)
	if err == nil && len(blocks.buf) > headerBytes {
		err = blocks.flush()
	}
	if err != nil || l.made && l.now.Blocks == 0 {
		l.undo()
		return Mark{}, err
	}
	w.log, w.has = l, l.now
	return l.now, nil
}

// OpenLog implements [Opener].
func (r *Reader) OpenLog(m Mark) (io.ReadCloser, error) {
	path := logFile(filepath.Dir(r.path), m.ID)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Reader{path: path, f: f, r: bufio.NewReaderSize(f, 1<<16), at: int64(logHeader), log: &m,
		seen: Mark{ID: m.ID, Length: int64(logHeader), Sum: m.ID}}
	st, err := f.Stat()
	switch {
	case err != nil:
	case st.Size() < m.Length:
		err = &Damaged{path, st.Size(), "it ends too early"}
	default:
		if herr := checkLog(l.r, m.ID); herr != nil {
			err = &Damaged{path, 0, herr.Error()}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}
