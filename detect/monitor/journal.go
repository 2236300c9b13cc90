package monitor

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"cpor/detect/computation"
	"cpor/detect/predicate"

	"github.com/cespare/xxhash/v2"
	"github.com/gofrs/flock"
)

// Journal keeps the events of a monitor on disk. Its file has JSON lines: a header, perhaps a
// checkpoint, and the events since then, each with a checksum (xxhash):
//
//	journal = { "journal": header } "\n" [ line of a checkpoint ] { line of an event } .
//	line of a checkpoint = { "checkpoint": checkpoint, "sum": sum } "\n" .
//	line of an event     = { "e": event, "sum": sum } "\n" .
//
// header, checkpoint and event are the JSON of the types with these names. An incomplete last line
// is dropped: its event was never acknowledged.
//
// FILE.lock beside it is locked as long as the journal is open, so there is one writer. It is a
// separate file because a checkpoint replaces the journal by a new file. It is never removed,
// because that would remove the lock of the next writer.
type Journal struct {
	path    string
	lock    *flock.Flock
	file    *os.File
	out     *bufio.Writer
	size    int64
	rewrite int64 // the size at which a checkpoint replaces the file
	limit   int64
	m       *Monitor
	buf     []byte
	damage  *Damage
}

// Damage says what was wrong with a journal, and what was lost.
type Damage struct {
	Line  int    // the first line that is damaged
	Lines int    // that were left out
	Rest  string // the file that they were put into
	Err   error
}

// String is a message for people.
func (d *Damage) String() string {
	return fmt.Sprintf("line %d is damaged (%v): the monitor continues from the line before; %d "+
		"lines were skipped and moved to %s", d.Line, d.Err, d.Lines, d.Rest)
}

// ErrLocked is returned by OpenJournal when another monitor has the journal.
var ErrLocked = errors.New("another monitor writes it")

// DefaultLimit is the size in bytes at which a journal is replaced by a
// checkpoint.
const DefaultLimit = 64 << 20

type journalLine struct {
	Journal    *header         `json:"journal,omitempty"`
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
	Event      *Event          `json:"e,omitempty"`
	Sum        uint64          `json:"sum,omitempty"` // of the event, or of the checkpoint's text
}

// header identifies what is monitored: a journal of another predicate would
// have forgotten the wrong things.
type header struct {
	Version   int                                     `json:"version"`
	Modality  string                                  `json:"modality"`
	Predicate string                                  `json:"predicate"`
	Hosts     []string                                `json:"hosts"`
	Init      map[string]map[string]computation.Value `json:"init,omitempty"`
}

// version of the journal's format; 1 had no sums and forgot the clocks.
const version = 2

// OpenJournal opens or creates the journal at path and returns it with the monitor that it
// describes, which is new for a new journal. The configuration may omit hosts and initial values
// that the journal has. It is an error if it gives others, or another predicate, if the file is not
// a journal (it is not touched), or if another monitor has it open (ErrLocked). limit is the size
// at which a checkpoint replaces the journal, 0 for DefaultLimit.
//
// A damaged journal is read up to the damage; see Damage.
func OpenJournal(path string, cfg Config, limit int64) (*Journal, *Monitor, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	j := &Journal{path: path, limit: limit, rewrite: limit, lock: flock.New(path + ".lock")}
	m, err := j.open(cfg)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("journal %s: %w", path, err), j.Close())
	}
	return j, m, nil
}

func (j *Journal) open(cfg Config) (*Monitor, error) {
	// Refuse a file that is not a journal before creating the lock beside it.
	if err := isJournal(j.path); err != nil {
		return nil, err
	}
	if ok, err := j.lock.TryLock(); err != nil {
		return nil, err
	} else if !ok {
		return nil, ErrLocked
	}
	file, err := os.OpenFile(j.path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return j.create(cfg)
	}
	if err != nil {
		return nil, err
	}
	j.file = file
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if info.Size() == 0 {
		return j.create(cfg)
	}
	if err := j.replay(cfg); err != nil {
		return nil, err
	}
	if err := file.Truncate(j.size); err != nil {
		return nil, err
	}
	if _, err := file.Seek(j.size, io.SeekStart); err != nil {
		return nil, err
	}
	j.rewrite = max(j.limit, 2*j.size)
	j.out = bufio.NewWriter(file)
	return j.m, nil
}

// Damage tells what was wrong with the journal when it was opened, or nil.
func (j *Journal) Damage() *Damage { return j.damage }

var errNoJournal = errors.New("line 1: not a monitor journal; the file was not touched")

// isJournal reports errNoJournal unless the file at path is missing, empty or
// begins with the header of a journal.
func isJournal(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	begin := make([]byte, len(`{"journal":`))
	n, err := io.ReadFull(file, begin)
	if n == 0 && err == io.EOF {
		return nil
	}
	if string(begin[:n]) != `{"journal":` {
		return errNoJournal
	}
	return nil
}

func (j *Journal) header() *header {
	modality, about := j.m.cfg.about()
	return &header{version, modality, about, j.m.cfg.Hosts, j.m.cfg.Init}
}

// about says what is monitored.
func (c *Config) about() (modality, text string) {
	if c.Follow != nil {
		return "model", c.About
	}
	return c.Modality.String(), c.Predicate.Text()
}

func (j *Journal) create(cfg Config) (*Monitor, error) {
	m, err := New(cfg)
	if err != nil {
		return nil, err
	}
	j.m = m
	return m, j.replace(false)
}

// replay reads the journal's file. Afterwards size is the length of the part
// that is whole.
func (j *Journal) replay(cfg Config) error {
	in := bufio.NewReaderSize(j.file, 1<<16)
	for n := 1; ; n++ {
		text, err := readLine(in)
		if err == io.EOF {
			if n == 1 {
				return errNoJournal // an incomplete line
			}
			return nil
		}
		if err != nil {
			return err
		}
		err = j.replayLine(n, bytes.TrimSuffix(text, []byte("\n")), cfg)
		if errors.Is(err, ErrFull) {
			return fmt.Errorf("line %d: %w; start with a higher one", n, err)
		}
		if err == nil {
			j.size += int64(len(text))
			continue
		}
		if d := (*damaged)(nil); !errors.As(err, &d) {
			return fmt.Errorf("line %d: %w", n, err)
		}
		return j.setAside(n, err)
	}
}

// readLine returns the next complete line with its end, or io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	text, err := in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := slices.Clone(text)
		for err == bufio.ErrBufferFull {
			text, err = in.ReadSlice('\n')
			long = append(long, text...)
		}
		text = long
	}
	return text, err
}

// damaged is an error about a line that what comes before it does not depend on.
type damaged struct{ err error }

func (d *damaged) Error() string { return d.err.Error() }

func (j *Journal) replayLine(n int, text []byte, cfg Config) error {
	var l journalLine
	if err := json.Unmarshal(text, &l); err != nil {
		if n == 1 || n == 2 && bytes.HasPrefix(text, []byte(`{"checkpoint"`)) {
			return fmt.Errorf("%w; everything before it is lost", err)
		}
		return &damaged{err}
	}
	switch {
	case n == 1 && l.Journal == nil:
		return errNoJournal
	case n == 1:
		return j.begin(l.Journal, cfg)
	case n == 2 && l.Checkpoint != nil:
		var cp checkpoint
		if err := json.Unmarshal(l.Checkpoint, &cp); err != nil ||
			xxhash.Sum64(l.Checkpoint) != l.Sum {
			return errors.New("the checkpoint is damaged; everything before it is lost")
		}
		return j.m.restore(&cp)
	case l.Event == nil:
		return &damaged{errors.New("it is not an event")}
	}
	return j.replayEvent(&l)
}

// replayEvent replays an event; an impossible one is an error of the type damaged.
func (j *Journal) replayEvent(l *journalLine) error {
	e, err := j.m.fromEvent(l.Event)
	if err != nil {
		return &damaged{err}
	}
	if e == nil || e.sum != l.Sum {
		return &damaged{errors.New("it is not what was written")}
	}
	fresh, err := j.m.check(e)
	switch {
	case errors.Is(err, ErrFull):
		return err
	case err != nil:
		return &damaged{err}
	case !fresh:
		return nil
	}
	if err := j.m.add(e); err != nil && !errors.Is(err, ErrFull) {
		return &damaged{err}
	}
	return nil
}

// setAside copies what follows the intact part of the file to a new file. The copy is on disk
// before anything is cut off.
func (j *Journal) setAside(line int, cause error) error {
	if _, err := j.file.Seek(j.size, io.SeekStart); err != nil {
		return err
	}
	rest, err := os.CreateTemp(filepath.Dir(j.path), filepath.Base(j.path)+".rest-*")
	if err != nil {
		return err
	}
	lines := &lineCounter{w: rest}
	_, err = io.Copy(lines, j.file)
	if err = errors.Join(err, rest.Sync(), rest.Close()); err != nil {
		return err
	}
	j.damage = &Damage{Line: line, Lines: lines.n, Rest: rest.Name(), Err: cause}
	return nil
}

type lineCounter struct {
	w io.Writer
	n int
}

func (l *lineCounter) Write(p []byte) (int, error) {
	l.n += bytes.Count(p, []byte("\n"))
	return l.w.Write(p)
}

func (j *Journal) begin(h *header, cfg Config) error {
	if h.Version != version {
		return fmt.Errorf("version %d is not known", h.Version)
	}
	if modality, about := cfg.about(); h.Modality != modality || h.Predicate != about {
		return fmt.Errorf("it is about -%s %q", h.Modality, h.Predicate)
	}
	if len(cfg.Hosts) > 0 && !slices.Equal(cfg.Hosts, h.Hosts) {
		return fmt.Errorf("it is about the hosts %v", h.Hosts)
	}
	cfg.Hosts = h.Hosts
	cfg.Init = h.Init
	var err error
	j.m, err = New(cfg)
	return err
}

// replace writes a new journal, with a checkpoint if that is set, and puts it in
// the place of the old one in one step.
func (j *Journal) replace(withCheckpoint bool) error {
	tmp, err := os.CreateTemp(filepath.Dir(j.path), filepath.Base(j.path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails when it was renamed
	out := bufio.NewWriter(tmp)
	lines := []journalLine{{Journal: j.header()}}
	if withCheckpoint {
		cp, err := j.m.checkpoint()
		if err != nil {
			tmp.Close()
			return err
		}
		text, err := json.Marshal(cp)
		if err != nil {
			tmp.Close()
			return err
		}
		lines = append(lines, journalLine{Checkpoint: text, Sum: xxhash.Sum64(text)})
	}
	size := int64(0)
	for _, l := range lines {
		text, err := json.Marshal(l)
		if err != nil {
			tmp.Close()
			return err
		}
		size += int64(len(text)) + 1
		out.Write(text)
		out.WriteByte('\n') // an error stays with out until Flush
	}
	if err := errors.Join(out.Flush(), tmp.Sync()); err != nil {
		tmp.Close()
		return err
	}
	if err := os.Rename(tmp.Name(), j.path); err != nil {
		tmp.Close()
		return err
	}
	if dir, err := os.Open(filepath.Dir(j.path)); err == nil {
		dir.Sync() // not every file system can; the rename is atomic anyway
		dir.Close()
	}
	if j.file != nil {
		j.file.Close()
	}
	j.file, j.out, j.size = tmp, bufio.NewWriter(tmp), size
	j.rewrite = max(j.limit, 2*size)
	return nil
}

// append adds an event that the monitor takes. It is safe when Sync returns.
func (j *Journal) append(e *event) error {
	j.buf = append(j.buf[:0], `{"e":`...)
	j.buf = j.m.appendEvent(j.buf, e)
	j.buf = append(j.buf, `,"sum":`...)
	j.buf = strconv.AppendUint(j.buf, e.sum, 10)
	j.buf = append(j.buf, "}\n"...)
	j.size += int64(len(j.buf))
	_, err := j.out.Write(j.buf)
	return err
}

// Sync brings what was appended to the disk. If the journal has become large, a checkpoint replaces
// it.
func (j *Journal) Sync() error {
	if j.size > j.rewrite {
		return j.replace(true)
	}
	if err := j.out.Flush(); err != nil {
		return err
	}
	return j.file.Sync()
}

// Close closes the file and releases the lock; what was appended since the last Sync may be lost.
func (j *Journal) Close() error {
	var errs []error
	if j.out != nil {
		errs = append(errs, j.out.Flush())
	}
	if j.file != nil {
		errs = append(errs, j.file.Close())
	}
	return errors.Join(append(errs, j.lock.Close())...)
}

// checkpoint is the state of a monitor.
type checkpoint struct {
	Events   int64             `json:"events"`
	Peak     int               `json:"peak"`
	Hosts    []hostCheckpoint  `json:"hosts"`
	Parts    []json.RawMessage `json:"parts"`
	Detected *Detection        `json:"detected,omitempty"`
}

type hostCheckpoint struct {
	Arrived int32               `json:"arrived"`
	Last    computation.Cut     `json:"last"`
	Current []computation.Value `json:"current"`
	States  []stateCheckpoint   `json:"states"`
	Rows    []rowCheckpoint     `json:"rows"`
	Sums    []byte              `json:"sums"` // little-endian
	Early   []json.RawMessage   `json:"early,omitempty"`
	// Seen has, by variable of the predicate, a value of each type that it had.
	Seen [][]predicate.Sighting `json:"seen,omitempty"`
}

type stateCheckpoint struct {
	At     int32               `json:"at"`
	Clock  computation.Cut     `json:"clock"`
	Values []computation.Value `json:"values"`
	Text   string              `json:"text,omitempty"`
	Later  bool                `json:"later,omitempty"`
}

type rowCheckpoint struct {
	At    int32           `json:"at"`
	Clock computation.Cut `json:"clock"`
}

func (m *Monitor) checkpoint() (*checkpoint, error) {
	if m.detected == nil {
		m.trim()
	}
	m.prune()
	cp := &checkpoint{Events: m.events, Peak: m.peak, Detected: m.detected}
	values := func(ids []computation.ValueID) []computation.Value {
		out := make([]computation.Value, len(ids))
		for x, id := range ids {
			out[x] = m.values.Value(id)
		}
		return out
	}
	for _, h := range m.hosts {
		hc := hostCheckpoint{Arrived: h.arrived, Last: h.last}
		if m.detected == nil {
			hc.Seen = h.seen
			hc.Current = values(h.cur)
			for _, s := range h.states {
				hc.States = append(hc.States, stateCheckpoint{
					s.at, s.clock, values(h.tuples[s.tuple]), s.text, s.later})
			}
		}
		for _, r := range h.rows {
			hc.Rows = append(hc.Rows, rowCheckpoint{r.at, r.clock})
		}
		for _, x := range h.sums {
			hc.Sums = binary.LittleEndian.AppendUint64(hc.Sums, x)
		}
		for _, e := range h.early {
			hc.Early = append(hc.Early, m.appendEvent(nil, e))
		}
		cp.Hosts = append(cp.Hosts, hc)
	}
	if m.follow != nil && m.detected == nil {
		data, err := m.follow.Save()
		cp.Parts = append(cp.Parts, data)
		return cp, err
	}
	for _, p := range m.parts {
		data, err := json.Marshal(p.save())
		if err != nil {
			return nil, err
		}
		cp.Parts = append(cp.Parts, data)
	}
	return cp, nil
}

var errCheckpoint = errors.New("the checkpoint does not fit the predicate")

func (m *Monitor) restore(cp *checkpoint) error {
	parts := len(m.parts)
	if m.follow != nil {
		parts = 1
	}
	if len(cp.Hosts) != len(m.hosts) || len(cp.Parts) != parts && cp.Detected == nil {
		return errCheckpoint
	}
	m.events, m.peak, m.detected = cp.Events, cp.Peak, cp.Detected
	m.rows = 0
	for i := range cp.Hosts {
		if err := m.restoreArrivals(i, &cp.Hosts[i]); err != nil {
			return err
		}
	}
	m.pruneAt = 2*m.rows + minPrune
	if m.detected != nil {
		m.release()
		return nil
	}
	for i := range cp.Hosts {
		if err := m.restoreStates(m.hosts[i], &cp.Hosts[i]); err != nil {
			return err
		}
	}
	if m.follow != nil {
		if err := m.follow.Restore(cp.Parts[0]); err != nil {
			return err
		}
	}
	for i, p := range m.parts {
		p.forget()
		if err := p.restore(cp.Parts[i]); err != nil {
			return err
		}
	}
	return m.advance(-1)
}

// restoreArrivals restores what has arrived of a host: clocks, checksums, and events that came
// early.
func (m *Monitor) restoreArrivals(i int, hc *hostCheckpoint) error {
	h := m.hosts[i]
	if len(hc.Last) != len(m.hosts) || len(hc.Rows) == 0 || len(hc.Sums)%8 != 0 ||
		len(hc.Sums)/8 > int(hc.Arrived) || hc.Rows[0].At > hc.Arrived {
		return errCheckpoint
	}
	h.arrived, h.last, h.rows, h.sums = hc.Arrived, hc.Last, nil, nil
	for _, r := range hc.Rows {
		if len(r.Clock) != len(m.hosts) || len(h.rows) > 0 && r.At <= h.rows[len(h.rows)-1].at {
			return errCheckpoint
		}
		h.rows = append(h.rows, row{r.At, r.Clock})
	}
	m.rows += len(h.rows)
	for at := 0; at < len(hc.Sums); at += 8 {
		h.sums = append(h.sums, binary.LittleEndian.Uint64(hc.Sums[at:]))
	}
	for _, text := range hc.Early {
		var x Event
		if err := json.Unmarshal(text, &x); err != nil {
			return err
		}
		e, err := m.fromEvent(&x)
		if err != nil || e == nil || int(e.host) != i {
			return errCheckpoint
		}
		h.early[e.own] = e
		m.earlyBytes += int64(e.size)
	}
	return nil
}

// restoreStates restores the local states of a host that are still needed.
func (m *Monitor) restoreStates(h *host, hc *hostCheckpoint) error {
	if len(hc.Current) != len(h.vars) || len(hc.States) == 0 {
		return errCheckpoint
	}
	h.states = nil
	h.tuples, h.tupleID, h.ofValue = nil, map[string]int32{}, nil
	h.class, h.classID = nil, map[string]int32{}
	if len(hc.Seen) == len(h.vars) {
		h.seen = hc.Seen
	}
	set := func(values []computation.Value) {
		for x, v := range values {
			h.cur[x] = m.valueID(v)
			h.sight(x, v, "before the checkpoint")
		}
	}
	for _, s := range hc.States {
		if len(s.Values) != len(h.vars) || len(s.Clock) != len(m.hosts) {
			return errCheckpoint
		}
		set(s.Values)
		h.states = append(h.states, state{s.At, s.Clock, h.tuple(), s.Text, s.Later})
		m.textBytes += int64(len(s.Text))
	}
	set(hc.Current)
	return nil
}
