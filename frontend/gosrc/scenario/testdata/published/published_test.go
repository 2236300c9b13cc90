package published

import (
	"testing"

	"github.com/Workiva/go-datastructures/queue"
	"github.com/alphadose/haxmap"
	ggmap "github.com/bytedance/gg/collection/skipmap"
	mapset "github.com/deckarep/golang-set/v2"
	fifo "github.com/enriquebris/goconcurrentqueue"
	cmap "github.com/orcaman/concurrent-map/v2"
	"github.com/puzpuzpuz/xsync"
	"github.com/scrapli/scrapligo/util"
	"github.com/zhangyunhao116/skipmap"

	"cpor/check"
)

// Types of modules that many use, with what package scenario's TestPublished finds in them. It
// makes a module of this file, because this module does not depend on those.

type cMap = cmap.ConcurrentMap[int, int]

func TestCount(t *testing.T) {
	cmap.SHARD_COUNT = 2
	check.Linearizable(t, func() cMap {
		return cmap.NewWithCustomShardingFunction[int, int](func(k int) uint32 {
			return uint32(k)
		})
	},
		check.Op("Set", func(m cMap, k int) { m.Set(k, 1) }),
		check.Op("Remove", func(m cMap, k int) { m.Remove(k) }),
		check.Op("Count", func(m cMap) int { return m.Count() }))
}

func TestOffer(t *testing.T) {
	check.Linearizable(t, func() *queue.RingBuffer { return queue.NewRingBuffer(4) },
		check.Op("Offer", (*queue.RingBuffer).Offer).Arg(0, 1))
}

func TestFixedFIFO(t *testing.T) {
	check.Linearizable(t, func() *fifo.FixedFIFO { return fifo.NewFixedFIFO(3) },
		check.Op("Enqueue", (*fifo.FixedFIFO).Enqueue).Arg(0, 1),
		check.Op("DequeueOrWait", (*fifo.FixedFIFO).DequeueOrWaitForNextElement).MayWait())
}

func TestFIFO(t *testing.T) {
	check.Linearizable(t, fifo.NewFIFO,
		check.Op("Enqueue", (*fifo.FIFO).Enqueue).Arg(0, 1),
		check.Op("Dequeue", (*fifo.FIFO).Dequeue),
		check.Op("Lock", (*fifo.FIFO).Lock))
}

func TestMPMC(t *testing.T) {
	check.Linearizable(t, func() *xsync.MPMCQueue { return xsync.NewMPMCQueue(2) },
		check.Op("TryEnqueue", (*xsync.MPMCQueue).TryEnqueue).Arg(0, 1),
		check.Op("TryDequeue", (*xsync.MPMCQueue).TryDequeue))
}

func TestScrapli(t *testing.T) {
	check.Linearizable(t, util.NewQueue,
		check.Op("Enqueue", func(q *util.Queue, s string) { q.Enqueue([]byte(s)) }),
		check.Op("Dequeue", func(q *util.Queue) string { return string(q.Dequeue()) }))
}

func TestSetJSON(t *testing.T) {
	type set = mapset.Set[int]
	check.Linearizable(t, func() set { return mapset.NewSet[int]() },
		check.Op("Unmarshal", func(s set) error { return s.UnmarshalJSON([]byte("[1]")) }),
		check.Op("Contains", func(s set) bool { return s.Contains(1) }))
}

type skipMap = *skipmap.OrderedMap[int, int]

func TestSkipmapStore(t *testing.T) {
	check.Linearizable(t, func() skipMap { return skipmap.New[int, int]() },
		check.Op("Store", func(m skipMap, v int) { m.Store(1, v) }),
		check.Op("LoadAndDelete", func(m skipMap) (int, bool) { return m.LoadAndDelete(1) }),
		check.Op("Load", func(m skipMap) (int, bool) { return m.Load(1) }))
}

func TestSkipmapLoad(t *testing.T) {
	check.Linearizable(t, func() skipMap { return skipmap.New[int, int]() },
		check.Op("LoadOrStore", func(m skipMap, v int) (int, bool) { return m.LoadOrStore(1, v) }),
		check.Op("Load", func(m skipMap) (int, bool) { return m.Load(1) }))
}

func TestGGStore(t *testing.T) {
	type ggMap = *ggmap.OrderedMap[int, int]
	check.Linearizable(t, func() ggMap { return ggmap.New[int, int]() },
		check.Op("Store", func(m ggMap, v int) { m.Store(1, v) }),
		check.Op("LoadAndDelete", func(m ggMap) (int, bool) { return m.LoadAndDelete(1) }),
		check.Op("Load", func(m ggMap) (int, bool) { return m.Load(1) }))
}

// TestHaxmap runs only natively.
func TestHaxmap(t *testing.T) {
	type hMap = *haxmap.Map[int, int]
	check.Linearizable(t, func() hMap { return haxmap.New[int, int](8) },
		check.Op("GetOrSet", func(m hMap) bool {
			_, loaded := m.GetOrSet(1, 1)
			return loaded
		}))
}
