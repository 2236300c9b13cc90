package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"cpor/system"
)

// Checkpoint is where an exploration keeps what it needs to continue in another
// process, and where it continues.
type Checkpoint struct {
	// Every is the time from one to the next; 0: only one at the end.
	Every time.Duration
	// Open, if not nil, is called once, before the exploration starts and after it has
	// refused what it cannot keep: it takes the place where checkpoints are kept.
	Open func() error
	// Write keeps what save writes, to what may have a log beside it; the exploration waits
	// meanwhile. finish, which is called once and may take long, completes it while the
	// exploration continues, or gives it up if err, which is what went wrong besides, is not
	// nil; it reports whether the checkpoint is the one that counts now. What goes wrong is
	// Write's matter: it does not end the exploration.
	Write func(save func(w io.Writer) error) (finish func(err error) bool)
	// Dir is the directory in which checkpoints are kept, and files that they name, on all
	// ranks; it is there when Open has returned.
	Dir string
	// From, if not nil, gives what was written: the exploration continues there. The
	// other options that say what is explored have to be the same, limits and the
	// number of workers can be others.
	From io.Reader
	// Interned tells that who gave it keeps what the states name by numbers of this process
	// ([system.Interning]).
	Interned bool
	// Parts, if not nil, takes the place of Write and From in an exploration whose
	// covered set is divided among ranks.
	Parts *Parts
}

// Parts is where an exploration that is divided among ranks keeps its parts, each in a
// file of its own that every rank can read.
type Parts struct {
	// From is how many parts there are where the exploration continues, with other
	// numbers of ranks if need be; 0: it begins.
	From int
	// Open returns such a part.
	Open func(part int) (io.ReadCloser, error)
	// Begin, if not nil, is called on every rank when the n-th checkpoint from now begins, n = 1,
	// 2, ..., also on those that cannot write their parts of it.
	Begin func(n int)
	// Write writes a part of the n-th checkpoint, and waits until it will last.
	Write func(n, part int, save func(w io.Writer) error) error
	// Commit makes the n-th checkpoint, of that many parts, the one that counts, or if err is
	// not nil gives it up and says why; it reports whether that checkpoint counts now. It is
	// called on one rank, when no rank writes.
	Commit func(n, parts int, err error) bool
}

// Unkept returns why an exploration of a system cannot be kept, an error of type
// [*OptionError]; nil if it can.
func (c *Checkpoint) Unkept(sys system.System) error {
	if in := sys.Capabilities().Interning; in != nil && !c.Interned {
		return &OptionError{
			Message: fmt.Sprintf("-checkpoint cannot save this search, because its states name "+
				"%s by numbers local to a process", in.Interns())}
	}
	return nil
}

// Start calls Open.
func (c *Checkpoint) Start() error {
	if c.Open == nil {
		return nil
	}
	return c.Open()
}

// Keeper writes the checkpoints of an exploration, one after another.
type Keeper struct {
	c    *Checkpoint
	done chan struct{} // the last one is complete
}

// NewKeeper returns a keeper. Wait must be called at the end.
func (c *Checkpoint) NewKeeper() *Keeper {
	k := &Keeper{c, make(chan struct{})}
	close(k.done)
	return k
}

// Write writes a checkpoint. It returns as soon as the exploration can continue.
func (k *Keeper) Write(save func(w io.Writer) error) {
	k.WriteWith(save, func() error { return nil }, func(bool) {})
}

// WriteWith is Write for a checkpoint that names files: while the exploration continues, files
// brings them to where they are kept, and after is called with whether the checkpoint is valid.
func (k *Keeper) WriteWith(save func(w io.Writer) error, files func() error,
	after func(counts bool)) {
	<-k.done
	finish, done := k.c.Write(save), make(chan struct{})
	k.done = done
	go func() {
		defer close(done)
		after(finish(files()))
	}()
}

// Wait waits until the last checkpoint is complete.
func (k *Keeper) Wait() { <-k.done }

// Interrupted reports whether an exploration that ended with err, as for [Judge], is to leave a
// checkpoint behind: it was interrupted, and not by a fault or a violation.
func Interrupted(err error) bool {
	if err == nil || errors.Is(err, AtViolation) {
		return false
	}
	_, _, _, fault := Judge(err, "", false)
	return fault == nil
}

// WriteRecord writes a value as JSON, with its length before it.
func WriteRecord(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(b)))); err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// ReadRecord reads what WriteRecord has written. Errors are of type [*OptionError].
func ReadRecord(r io.Reader, v any) error {
	var length [8]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return Unreadable(err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	// A wrong length must not ask for memory that is not needed.
	b, err := io.ReadAll(io.LimitReader(r, int64(min(n, math.MaxInt64))))
	if err == nil && uint64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return Unreadable(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return Unreadable(err)
	}
	return nil
}

// AtEnd returns an error of type [*OptionError] if there is more to read.
func AtEnd(r io.Reader) error {
	if rest, err := io.Copy(io.Discard, r); err != nil || rest > 0 {
		return Unreadable(errors.Join(err, fmt.Errorf("%d bytes too many", rest)))
	}
	return nil
}

// Unreadable is the error for a checkpoint that cannot be resumed.
func Unreadable(err error) error {
	return &OptionError{Message: fmt.Sprintf("the checkpoint cannot be resumed: %v", err)}
}
