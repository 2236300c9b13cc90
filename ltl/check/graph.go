package check

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"cpor/statestore"
)

// edge is a transition of the program graph.
type edge struct {
	to     uint32
	thread uint32
	alt    uint64
}

// The conditions of a node.
const (
	unclaimed uint32 = iota
	claimed          // expanded, or being expanded; sequentially: on the stack
	finished         // sequentially: no longer on the stack
)

// node is a program state in the graph.
type node struct {
	condition atomic.Uint32
	expanded  bool // edges and label are there
	edges     []edge
}

// Nodes stand in chunks, each twice as large as the one before, so that they
// never move and a small graph is small.
const firstChunk = 1 << 8

// chunk holds nodes with the labels of their states.
type chunk struct {
	nodes  []node
	labels []uint64 // words for each node
}

// Graph is a reduced program graph. Nodes are numbered from 0.
type Graph struct {
	words    int // of a label
	mu       sync.Mutex
	chunks   [25]atomic.Pointer[chunk]
	count    atomic.Uint32
	ids      idTable
	initial  []uint32
	complete bool // every node is expanded
}

// maxNodes bounds the nodes, whose numbers have 32 bits.
const maxNodes = 1<<32 - 1<<20

func newGraph(words int) *Graph {
	g := &Graph{words: max(words, 1)}
	for i := range g.ids.shards {
		g.ids.shards[i].ids = map[statestore.Ref]uint32{}
	}
	return g
}

// place returns the chunk of a node and its index there.
func place(id uint32) (k int, i uint32) {
	k = bits.Len32(id/firstChunk+1) - 1
	return k, id - (1<<k-1)*firstChunk
}

// node returns a node by its number.
func (g *Graph) node(id uint32) *node {
	k, i := place(id)
	return &g.chunks[k].Load().nodes[i]
}

// label returns the words of a node's label.
func (g *Graph) label(id uint32) []uint64 {
	k, i := place(id)
	at := int(i) * g.words
	return g.chunks[k].Load().labels[at : at+g.words]
}

// add returns the number of a stored state, a new one if it has none.
func (g *Graph) add(ref statestore.Ref) uint32 {
	return g.ids.get(ref, func() uint32 {
		id := g.count.Add(1) - 1
		k, _ := place(id)
		c := &g.chunks[k]
		if c.Load() == nil {
			g.mu.Lock()
			if c.Load() == nil {
				n := firstChunk << k
				c.Store(&chunk{make([]node, n), make([]uint64, n*g.words)})
			}
			g.mu.Unlock()
		}
		return id
	})
}

// States returns the number of nodes.
func (g *Graph) States() int { return int(g.count.Load()) }

// Transitions returns the number of edges.
func (g *Graph) Transitions() int {
	n := 0
	for id := range g.count.Load() {
		n += len(g.node(id).edges)
	}
	return n
}

// idTable maps the references of a store to the numbers of nodes, in shards, so
// that workers seldom meet at a lock.
type idTable struct{ shards [64]idShard }

type idShard struct {
	mu  sync.Mutex
	ids map[statestore.Ref]uint32
	_   [40]byte // one shard in a cache line
}

func (t *idTable) shard(ref statestore.Ref) *idShard {
	return &t.shards[uint64(ref)*0x9e3779b97f4a7c15>>58]
}

// get returns the number of a reference, by calling fresh if it has none.
func (t *idTable) get(ref statestore.Ref, fresh func() uint32) uint32 {
	s := t.shard(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[ref]
	if !ok {
		id = fresh()
		s.ids[ref] = id
	}
	return id
}

// find returns the number of a reference if it has one.
func (t *idTable) find(ref statestore.Ref) (uint32, bool) {
	s := t.shard(ref)
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.ids[ref]
	return id, ok
}
