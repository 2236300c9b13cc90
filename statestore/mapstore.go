package statestore

import "sync"

// mapStore is the simplest store: it gives the others' meaning.
type mapStore struct {
	o      Options
	mu     sync.Mutex
	refs   map[string]Ref
	states [][]uint64
	parent []Ref
	bytes  uint64
}

func newMapStore(o Options) *mapStore { return &mapStore{o: o, refs: map[string]Ref{}} }

func mapKey(s []uint64) string {
	b := make([]byte, 0, 8*len(s))
	for _, w := range s {
		for i := 0; i < 64; i += 8 {
			b = append(b, byte(w>>i))
		}
	}
	return string(b)
}

func (m *mapStore) NewSession() Session { return m }
func (m *mapStore) Len() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return uint64(len(m.states))
}
func (m *mapStore) Bytes() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.bytes
}
func (m *mapStore) Exact() bool                  { return true }
func (m *mapStore) Loadable() bool               { return true }
func (m *mapStore) OmissionProbability() float64 { return 0 }
func (m *mapStore) Stats() Stats {
	return Stats{Kind: m.o.Kind, States: m.Len(), Bytes: m.Bytes()}
}

func (m *mapStore) Insert(s []uint64, parent Ref) (Ref, bool, error) {
	k := mapKey(s)
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.refs[k]; ok {
		return r, false, nil
	}
	b := uint64(16*len(s) + 64)
	if m.o.MaxBytes > 0 && m.bytes+b > m.o.MaxBytes {
		return 0, false, ErrFull
	}
	m.bytes += b
	m.states = append(m.states, append([]uint64(nil), s...))
	m.parent = append(m.parent, parent)
	r := Ref(len(m.states))
	m.refs[k] = r
	return r, true, nil
}

func (m *mapStore) Find(s []uint64) (Ref, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.refs[mapKey(s)]
	return r, ok
}

func (m *mapStore) Load(ref Ref, dst []uint64) []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append(dst[:0], m.states[ref-1]...)
}

func (m *mapStore) Parents(ref Ref, yield func(Ref) bool) {
	if p := m.parent[ref-1]; p != 0 {
		yield(p)
	}
}
