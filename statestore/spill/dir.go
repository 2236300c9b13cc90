package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/gofrs/flock"
)

// Dir is a directory for what does not fit into memory. Its methods may be called by
// many goroutines.
type Dir struct {
	path    string
	lock    *flock.Flock
	numbers atomic.Uint64
	made    bool
	write   func(f *os.File, b []byte) (int, error) // tests replace it

	written, read, size, most atomic.Int64

	mu      sync.Mutex
	holding bool
	held    []held
}

// ours are the names of the files: what another process has left of them is removed.
var ours = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^cpor-[0-9]+\.spill$`)
})

// Open takes a directory, which it makes if it is not there, and removes what a search
// that was killed has left of its files. The error says that another search has it,
// or what the system said.
func Open(path string) (*Dir, error) {
	_, err := os.Stat(path)
	made := errors.Is(err, os.ErrNotExist)
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, err
	}
	d := &Dir{path: path, lock: flock.New(filepath.Join(path, "cpor.lock")), made: made,
		write: (*os.File).Write}
	ok, err := d.lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%s: another search keeps its states there", path)
	}
	if err := d.sweep(); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// fileBits are the bits of a file's number that count the files of a directory.
const fileBits = 28

// Number gives files numbers that differ from those of other processes of one search that
// give other ranks, and from those before it continued, which give other sessions. It comes before
// any file.
func (d *Dir) Number(session, rank int) {
	d.numbers.Store(uint64(session)<<(fileBits+20) | uint64(rank)<<fileBits)
}

// sweep removes the files.
func (d *Dir) sweep() error {
	files, err := os.ReadDir(d.path)
	for _, f := range files {
		if ours().MatchString(f.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(d.path, f.Name())))
		}
	}
	return err
}

// Close removes the files, and the directory if Open has made it and nothing else is there.
// Sets and queues of it must have been closed.
func (d *Dir) Close() error {
	err := d.sweep()
	err = errors.Join(err, os.Remove(d.lock.Path()), d.lock.Close())
	if d.made {
		os.Remove(d.path) // stays if somebody has put something there
	}
	return err
}

// name is the path of the file with a number.
func (d *Dir) name(id uint64) string {
	return filepath.Join(d.path, fmt.Sprintf("cpor-%d.spill", id))
}

// create makes a file.
func (d *Dir) create() (*file, error) {
	id := d.numbers.Add(1)
	f, err := os.OpenFile(d.name(id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &file{File: f, id: id, write: d.write}, nil
}

// wrote counts a file that has been written.
func (d *Dir) wrote(f *file) {
	d.written.Add(f.size)
	now := d.size.Add(f.size)
	for most := d.most.Load(); now > most && !d.most.CompareAndSwap(most, now); {
		most = d.most.Load()
	}
}

// remove closes a file and removes it. counted reports whether it was counted by wrote.
func (d *Dir) remove(f *file, counted bool) error {
	err := f.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	if counted {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.holding {
			d.held = append(d.held, held{f.Name(), f.size})
			return err
		}
		d.size.Add(-f.size)
	}
	return errors.Join(err, os.Remove(f.Name()))
}

// Stats are figures about a directory, in bytes.
type Stats struct {
	Bytes   uint64 `json:"bytes"`   // that are there now
	Most    uint64 `json:"most"`    // that were there at a time
	Written uint64 `json:"written"` // all in all
	Read    uint64 `json:"read"`
}

// Stats returns figures.
func (d *Dir) Stats() Stats {
	return Stats{uint64(d.size.Load()), uint64(d.most.Load()), uint64(d.written.Load()),
		uint64(d.read.Load())}
}
