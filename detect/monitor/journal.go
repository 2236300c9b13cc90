package monitor

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"cpor/detect/computation"
)

// Journal keeps on disk what a monitor was told. Its file has JSON lines: a
// header, perhaps a checkpoint, and the events since then. A last line that was
// not written to its end is dropped: its event was never acknowledged.
type Journal struct {
	path    string
	file    *os.File
	out     *bufio.Writer
	size    int64
	rewrite int64 // the size at which a checkpoint replaces the file
	limit   int64
	m       *Monitor
}

// DefaultLimit is the size in bytes at which a journal is replaced by a
// checkpoint.
const DefaultLimit = 64 << 20

type journalLine struct {
	Journal    *header     `json:"journal,omitempty"`
	Checkpoint *checkpoint `json:"checkpoint,omitempty"`
	Event      *Event      `json:"e,omitempty"`
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

// OpenJournal opens or creates the journal at path and returns it with the
// monitor that it describes. For a new journal the monitor is new, too. The
// configuration may leave out hosts and initial values that the journal has; if
// it gives others, that is an error, and so is another predicate. limit is
// the size at which the journal is replaced by a checkpoint, 0 for DefaultLimit.
func OpenJournal(path string, cfg Config, limit int64) (*Journal, *Monitor, error) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	j := &Journal{path: path, limit: limit, rewrite: limit}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	if end := bytes.LastIndexByte(data, '\n'); end < 0 {
		return j.create(cfg)
	} else {
		j.size = int64(end + 1)
		data = data[:end+1]
	}
	if err := j.replay(data, cfg); err != nil {
		return nil, nil, fmt.Errorf("journal %s: %w", path, err)
	}
	j.file, err = os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := j.file.Truncate(j.size); err != nil {
		return nil, nil, err
	}
	if _, err := j.file.Seek(j.size, io.SeekStart); err != nil {
		return nil, nil, err
	}
	j.out = bufio.NewWriter(j.file)
	return j, j.m, nil
}

func (j *Journal) header() *header {
	return &header{1, j.m.cfg.Modality.String(), j.m.cfg.Predicate.Text(), j.m.cfg.Hosts, j.m.cfg.Init}
}

func (j *Journal) create(cfg Config) (*Journal, *Monitor, error) {
	m, err := New(cfg)
	if err != nil {
		return nil, nil, err
	}
	j.m = m
	if err := j.replace(false); err != nil {
		return nil, nil, err
	}
	return j, m, nil
}

func (j *Journal) replay(data []byte, cfg Config) error {
	for n := 1; len(data) > 0; n++ {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		var l journalLine
		if err := decode(text, &l); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		var err error
		switch {
		case n == 1 && l.Journal == nil:
			err = errors.New("this is no journal of a monitor")
		case n == 1:
			err = j.begin(l.Journal, cfg)
		case l.Checkpoint != nil:
			err = j.m.restore(l.Checkpoint)
		case l.Event != nil:
			err = j.m.Add(l.Event)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

func decode(text []byte, x any) error {
	return json.Unmarshal(text, x)
}

func (j *Journal) begin(h *header, cfg Config) error {
	if h.Version != 1 {
		return fmt.Errorf("version %d is not known", h.Version)
	}
	if h.Modality != cfg.Modality.String() || h.Predicate != cfg.Predicate.Text() {
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
		lines = append(lines, journalLine{Checkpoint: cp})
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

// Append adds events that the monitor has taken. They are safe when Sync
// returns.
func (j *Journal) Append(e *Event) error {
	text, err := json.Marshal(journalLine{Event: e})
	if err != nil {
		return err
	}
	j.size += int64(len(text)) + 1
	j.out.Write(text)
	return j.out.WriteByte('\n')
}

// Sync brings what was appended to the disk. When the journal has become large,
// it replaces it by a checkpoint.
func (j *Journal) Sync() error {
	if j.size > j.rewrite {
		return j.replace(true)
	}
	if err := j.out.Flush(); err != nil {
		return err
	}
	return j.file.Sync()
}

// Close closes the file; what was appended since the last Sync may be lost.
func (j *Journal) Close() error { return errors.Join(j.out.Flush(), j.file.Close()) }

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
	Early   []*Event            `json:"early,omitempty"`
}

type stateCheckpoint struct {
	At     int32               `json:"at"`
	Clock  computation.Cut     `json:"clock"`
	Values []computation.Value `json:"values"`
	Text   string              `json:"text,omitempty"`
	Later  bool                `json:"later,omitempty"`
}

func (m *Monitor) checkpoint() (*checkpoint, error) {
	m.trim()
	cp := &checkpoint{Events: m.events, Peak: m.peak, Detected: m.detected}
	values := func(ids []computation.ValueID) []computation.Value {
		out := make([]computation.Value, len(ids))
		for x, id := range ids {
			out[x] = m.values.Value(id)
		}
		return out
	}
	for _, h := range m.hosts {
		hc := hostCheckpoint{Arrived: h.arrived, Last: h.last, Current: values(h.cur)}
		for _, s := range h.states {
			hc.States = append(hc.States, stateCheckpoint{s.at, s.clock, values(h.tuples[s.tuple]), s.text, s.later})
		}
		for _, e := range h.early {
			hc.Early = append(hc.Early, e)
		}
		cp.Hosts = append(cp.Hosts, hc)
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

func (m *Monitor) restore(cp *checkpoint) error {
	if len(cp.Hosts) != len(m.hosts) || len(cp.Parts) != len(m.parts) && cp.Detected == nil {
		return errors.New("the checkpoint does not fit the predicate")
	}
	m.events, m.peak, m.detected = cp.Events, cp.Peak, cp.Detected
	for i, hc := range cp.Hosts {
		h := m.hosts[i]
		if len(hc.Current) != len(h.vars) || len(hc.Last) != len(m.hosts) || len(hc.States) == 0 {
			return errors.New("the checkpoint does not fit the predicate")
		}
		h.arrived, h.last, h.states = hc.Arrived, hc.Last, nil
		h.tuples, h.tupleID = nil, map[string]int32{}
		h.class, h.classID = nil, map[string]int32{}
		set := func(values []computation.Value) {
			for x, v := range values {
				h.cur[x] = m.values.ID(v)
			}
		}
		for _, s := range hc.States {
			if len(s.Values) != len(h.vars) || len(s.Clock) != len(m.hosts) {
				return errors.New("the checkpoint does not fit the predicate")
			}
			set(s.Values)
			h.states = append(h.states, state{s.At, s.Clock, h.tuple(), s.Text, s.Later})
		}
		set(hc.Current)
		for _, e := range hc.Early {
			h.early[e.Clock[h.name]] = e
		}
	}
	if m.detected != nil {
		m.release()
		return nil
	}
	for i, p := range m.parts {
		p.forget()
		if err := p.restore(cp.Parts[i]); err != nil {
			return err
		}
	}
	return m.advance()
}
