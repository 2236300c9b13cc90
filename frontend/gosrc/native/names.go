package native

import (
	"encoding/binary"
	"fmt"
	"sync"

	"cpor/system"
)

// threadName names a goroutine: the n-th child of another one. The test is {-1, 0}.
type threadName struct {
	parent int32
	n      uint32
}

// locName names a location: its kind, the object's creator and number (or an address), an
// offset, and an index.
type locName struct {
	kind        uint32
	creator     int32
	seq         uint32
	offset, sub uint64
}

// names is what the processes of a binary have told of numbers.
type names struct {
	mu      sync.Mutex
	keys    []uint64 // of threads, by number
	numbers map[uint64]int32
	titles  []string
	test    string // of which these are the titles
	need    uint32 // flags of commands that the test has turned out to need
}

// of forgets what threads are called if that was in another test.
func (m *names) of(test string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.test != test {
		m.test, m.need = test, 0
		clear(m.titles)
	}
}

// needed returns the flags of commands that the test needs. How many goroutines there are and
// whether a test has ended are locations only then, sockets are real, and timers of initializers
// with channels go off.
func (m *names) needed() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.need
}

// needs notes what the test needs if that is why an execution has ended, and was not known.
func (m *names) needs(why string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	flag := map[string]uint32{countsText: cmdCounts, socketsText: cmdSockets,
		timersText: cmdTimers, logsText: cmdLogs}[why]
	known := m.need&flag != 0
	m.need |= flag
	return flag != 0 && !known
}

// thread returns the number of a thread.
func (b *Binary) thread(parent int32, n uint32, key uint64, title func() string) (int32, error) {
	t := int32(b.threads.Number(threadName{parent, n}))
	m := &b.names
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.numbers == nil {
		m.numbers = map[uint64]int32{}
	}
	for len(m.keys) <= int(t) {
		m.keys = append(m.keys, 0)
		m.titles = append(m.titles, "")
	}
	if m.keys[t] == 0 {
		if x, ok := m.numbers[key]; ok && x != t {
			return 0, fmt.Errorf("two goroutines have the key %x", key)
		}
		m.keys[t], m.numbers[key] = key, t
	}
	if m.titles[t] == "" {
		m.titles[t] = title()
	}
	return t, nil
}

// mix is the hash that names threads, as the run-time computes it.
func mix(a, b uint64) uint64 {
	x := a ^ (b+0x9e3779b97f4a7c15)*0xbf58476d1ce4e5b9
	x ^= x >> 29
	x *= 0x94d049bb133111eb
	return x ^ x>>32
}

// Threads returns the names of the first n threads: the number of the one that made it, -1 for
// thread 0, and how many that one had made before.
func (b *Binary) Threads(n int) [][2]int32 {
	names := make([][2]int32, n)
	for i := range names {
		t := b.threads.Name(uint32(i))
		names[i] = [2]int32{t.parent, int32(t.n)}
	}
	return names
}

// NameThreads numbers threads by names that Threads has returned in another process, before any
// execution. The error says that these are no such names.
func (b *Binary) NameThreads(names [][2]int32) error {
	for i, n := range names {
		key := uint64(1)
		if i > 0 {
			if n[0] < 0 || int(n[0]) >= i {
				return fmt.Errorf("goroutine %d cannot be made by goroutine %d", i, n[0])
			}
			k, _ := b.key(n[0])
			key = mix(k, uint64(n[1])+1)
		} else if n != [2]int32{-1, 0} {
			return fmt.Errorf("the first goroutine has no parent")
		}
		t, err := b.thread(n[0], uint32(n[1]), key, func() string { return "" })
		if err != nil {
			return err
		}
		if int(t) != i {
			return fmt.Errorf("goroutine %d has the number %d already", i, t)
		}
	}
	return nil
}

func (b *Binary) key(t int32) (uint64, bool) {
	m := &b.names
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.key(t)
}

// appendChoices appends choices as they are in a command. It returns how many it could: the next
// one is of a thread that nobody has told of.
func (m *names) appendChoices(dst []byte, choices []Choice) ([]byte, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, ch := range choices {
		key, ok := m.key(ch.Thread)
		if !ok {
			return dst, i
		}
		dst = binary.LittleEndian.AppendUint64(dst, key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(ch.Alt))
	}
	return dst, len(choices)
}

// key returns the key of a thread. The caller holds the lock.
func (m *names) key(t int32) (uint64, bool) {
	if t == 0 {
		return 1, true
	}
	if int(t) >= len(m.keys) || m.keys[t] == 0 {
		return 0, false
	}
	return m.keys[t], true
}

// ThreadName returns what a thread runs, and where it was made.
func (b *Binary) ThreadName(t int32) string {
	m := &b.names
	m.mu.Lock()
	defer m.mu.Unlock()
	if int(t) >= len(m.titles) {
		return ""
	}
	return m.titles[t]
}

// LocName returns what a location is, for people; it may be empty.
func (b *Binary) LocName(l system.Loc) string {
	n := b.locs.Name(uint32(l))
	return fmt.Sprintf("%s of %s", locKinds[min(int(n.kind), len(locKinds)-1)],
		b.objectName(n.creator, n.seq, n.offset))
}

var locKinds = []string{"state", "head", "tail", "closing", "slot", "receivers", "senders",
	"meeting", "existence", "clock", "alarm", "adds", "doing", "bubble", "count",
	"end of the test", "share", "shares", "share"}

func (b *Binary) objectName(creator int32, seq uint32, offset uint64) string {
	if creator < 0 {
		return fmt.Sprintf("%#x", offset)
	}
	s := fmt.Sprintf("object %d of %s", seq, b.ThreadName(creator))
	if offset > 0 {
		s += fmt.Sprintf("+%d", offset)
	}
	return s
}
