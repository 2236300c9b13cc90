package structures

import (
	"testing"

	"cpor/check"
)

// Every structure is tested as it is to be, and with its fault. The tests are explored by
// TestStructures of package scenario.

var bounds = check.Bounds{Scenarios: 100}

func testSharded(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Sharded { return newSharded(bad) },
		check.Op("Put", (*Sharded).Put),
		check.Op("Delete", (*Sharded).Delete).Arg(0, 1),
		check.Op("Len", (*Sharded).Len),
		bounds)
}

func TestShardedRight(t *testing.T) { testSharded(t, false) }
func TestShardedWrong(t *testing.T) { testSharded(t, true) }

func testCopyOnWrite(t *testing.T, bad bool) {
	check.Linearizable(t, func() *CopyOnWrite { return newCopyOnWrite(bad) },
		check.Op("Get", (*CopyOnWrite).Get),
		check.Op("Put", (*CopyOnWrite).Put).Arg(1, 1),
		bounds)
}

func TestCopyOnWriteRight(t *testing.T) { testCopyOnWrite(t, false) }
func TestCopyOnWriteWrong(t *testing.T) { testCopyOnWrite(t, true) }

func testLazy(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Lazy { return newLazy(bad) },
		check.Op("Put", (*Lazy).Put),
		bounds)
}

func TestLazyRight(t *testing.T) { testLazy(t, false) }
func TestLazyWrong(t *testing.T) { testLazy(t, true) }

func testLRU(t *testing.T, bad bool) {
	check.Linearizable(t, func() *LRU { return newLRU(bad) },
		check.Op("Put", (*LRU).Put).Arg(0, "a", "b", "c"),
		check.Op("Get", (*LRU).Get).Arg(0, "a"),
		bounds)
}

func TestLRURight(t *testing.T) { testLRU(t, false) }
func TestLRUWrong(t *testing.T) { testLRU(t, true) }

func testTTL(t *testing.T, bad bool) {
	check.Linearizable(t, func() *TTL { return newTTL(bad) },
		check.Op("Tick", (*TTL).Tick),
		check.Op("Put", (*TTL).Put).Arg(0, "a"),
		check.Op("Get", (*TTL).Get).Arg(0, "a"),
		bounds)
}

func TestTTLRight(t *testing.T) { testTTL(t, false) }
func TestTTLWrong(t *testing.T) { testTTL(t, true) }

func testFlight(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Flight { return newFlight(bad) },
		check.Op("Get", (*Flight).Get).Arg(0, "a"),
		check.Op("Forget", (*Flight).Forget).Arg(0, "a"),
		bounds)
}

func TestFlightRight(t *testing.T) { testFlight(t, false) }
func TestFlightWrong(t *testing.T) { testFlight(t, true) }

func testMSQueue(t *testing.T, bad bool) {
	check.Linearizable(t, func() *MSQueue { return newMSQueue(bad) },
		check.Op("Enq", (*MSQueue).Enq),
		check.Op("Deq", (*MSQueue).Deq),
		bounds)
}

func TestMSQueueRight(t *testing.T) { testMSQueue(t, false) }
func TestMSQueueWrong(t *testing.T) { testMSQueue(t, true) }

func testRing(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Ring { return newRing(bad) },
		check.Op("Put", (*Ring).Put),
		check.Op("Take", (*Ring).Take),
		bounds)
}

func TestRingRight(t *testing.T) { testRing(t, false) }
func TestRingWrong(t *testing.T) { testRing(t, true) }

// TestRingQuiescentRight: the fault of the bad one shows only while a Put is running.
func TestRingQuiescentRight(t *testing.T) {
	check.Linearizable(t, func() *Ring { return newRing(true) },
		check.Op("Put", (*Ring).Put),
		check.Op("Take", (*Ring).Take),
		bounds, check.Quiescence)
}

func testChan(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Chan { return newChan(bad) },
		check.Op("Put", (*Chan).Put),
		check.Op("Take", (*Chan).Take),
		bounds)
}

func TestChanRight(t *testing.T) { testChan(t, false) }
func TestChanWrong(t *testing.T) { testChan(t, true) }

func testBlocking(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Blocking { return newBlocking(bad) },
		check.Op("Put", (*Blocking).Put).Arg(0, 1),
		check.Op("Take", (*Blocking).Take).MayWait(),
		check.Bounds{Calls: 2, Prefix: -1})
}

func TestBlockingRight(t *testing.T) { testBlocking(t, false) }
func TestBlockingWrong(t *testing.T) { testBlocking(t, true) }

func testPriority(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Priority { return newPriority(bad) },
		check.Op("Put", (*Priority).Put),
		check.Op("Min", (*Priority).Min),
		bounds)
}

func TestPriorityRight(t *testing.T) { testPriority(t, false) }
func TestPriorityWrong(t *testing.T) { testPriority(t, true) }

func testTreiber(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Treiber { return newTreiber(bad) },
		check.Op("Push", (*Treiber).Push).Arg(0, 1),
		check.Op("Pop", (*Treiber).Pop),
		check.Only("Push(1); Push(1) then Pop() || Pop(); Pop(); Push(1)"))
}

func TestTreiberRight(t *testing.T) { testTreiber(t, false) }
func TestTreiberWrong(t *testing.T) { testTreiber(t, true) }

func testLocked(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Locked { return newLocked(bad) },
		check.Op("Push", (*Locked).Push),
		check.Op("Pop", (*Locked).Pop),
		check.Op("Top", (*Locked).Top),
		bounds)
}

func TestLockedRight(t *testing.T) { testLocked(t, false) }
func TestLockedWrong(t *testing.T) { testLocked(t, true) }

func testLazyList(t *testing.T, bad bool) {
	check.Linearizable(t, func() *LazyList { return newLazyList(bad) },
		check.Op("Add", (*LazyList).Add),
		check.Op("Remove", (*LazyList).Remove).Arg(0, 1),
		check.Op("Contains", (*LazyList).Contains),
		bounds)
}

func TestLazyListRight(t *testing.T) { testLazyList(t, false) }
func TestLazyListWrong(t *testing.T) { testLazyList(t, true) }

func testSkip(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Skip { return newSkip(bad) },
		check.Op("Add", (*Skip).Add).Arg(0, 1),
		check.Op("Remove", (*Skip).Remove).Arg(0, 1),
		check.Op("Contains", (*Skip).Contains).Arg(0, 1),
		bounds)
}

func TestSkipRight(t *testing.T) { testSkip(t, false) }
func TestSkipWrong(t *testing.T) { testSkip(t, true) }

func testBits(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Bits { return newBits(bad) },
		check.Op("Add", (*Bits).Add),
		check.Op("Contains", (*Bits).Contains),
		bounds)
}

func TestBitsRight(t *testing.T) { testBits(t, false) }
func TestBitsWrong(t *testing.T) { testBits(t, true) }

func testRW(t *testing.T, bad bool) {
	check.Linearizable(t, func() *RW { return newRW(bad) },
		check.Op("AddAll", (*RW).AddAll),
		check.Op("Len", (*RW).Len),
		bounds)
}

func TestRWRight(t *testing.T) { testRW(t, false) }
func TestRWWrong(t *testing.T) { testRW(t, true) }

func testCounter(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Counter { return newCounter(bad) },
		check.Op("Inc", (*Counter).Inc),
		check.Op("Get", (*Counter).Get),
		bounds)
}

func TestCounterRight(t *testing.T) { testCounter(t, false) }
func TestCounterWrong(t *testing.T) { testCounter(t, true) }

func testBounded(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Bounded { return newBounded(bad) },
		check.Op("Inc", (*Bounded).Inc),
		bounds)
}

func TestBoundedRight(t *testing.T) { testBounded(t, false) }
func TestBoundedWrong(t *testing.T) { testBounded(t, true) }

func testSemaphore(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Semaphore { return newSemaphore(bad) },
		check.Op("TryAcquire", (*Semaphore).TryAcquire),
		bounds)
}

func TestSemaphoreRight(t *testing.T) { testSemaphore(t, false) }
func TestSemaphoreWrong(t *testing.T) { testSemaphore(t, true) }

func testPermits(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Permits { return newPermits(bad) },
		check.Op("Acquire", (*Permits).Acquire).MayWait(),
		check.Op("Release", (*Permits).Release),
		check.Bounds{Calls: 2})
}

func TestPermitsRight(t *testing.T) { testPermits(t, false) }
func TestPermitsWrong(t *testing.T) { testPermits(t, true) }

func testRate(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Rate { return newRate(bad) },
		check.Op("Tick", (*Rate).Tick),
		check.Op("Allow", (*Rate).Allow),
		bounds)
}

func TestRateRight(t *testing.T) { testRate(t, false) }
func TestRateWrong(t *testing.T) { testRate(t, true) }

func testPool(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Pool { return newPool(bad) },
		check.Op("Get", (*Pool).Get),
		check.Op("Put", (*Pool).Put),
		bounds)
}

func TestPoolRight(t *testing.T) { testPool(t, false) }
func TestPoolWrong(t *testing.T) { testPool(t, true) }

func testLog(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Log { return newLog(bad) },
		check.Op("Append", (*Log).Append),
		check.Op("Last", (*Log).Last),
		bounds)
}

func TestLogRight(t *testing.T) { testLog(t, false) }
func TestLogWrong(t *testing.T) { testLog(t, true) }

func testLatch(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Latch { return newLatch(bad) },
		check.Op("Down", (*Latch).Down),
		check.Op("Wait", (*Latch).Wait).MayWait(),
		bounds)
}

func TestLatchRight(t *testing.T) { testLatch(t, false) }
func TestLatchWrong(t *testing.T) { testLatch(t, true) }

func testPromise(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Promise { return newPromise(bad) },
		check.Op("Set", (*Promise).Set),
		check.Op("Get", (*Promise).Get).MayWait(),
		bounds)
}

func TestPromiseRight(t *testing.T) { testPromise(t, false) }
func TestPromiseWrong(t *testing.T) { testPromise(t, true) }

func testBank(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Bank { return newBank(bad) },
		check.Op("Move", (*Bank).Move),
		check.Op("Total", (*Bank).Total),
		bounds)
}

func TestBankRight(t *testing.T) { testBank(t, false) }
func TestBankWrong(t *testing.T) { testBank(t, true) }

func testSnapshot(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Snapshot { return newSnapshot(bad) },
		check.Op("Set", (*Snapshot).Set).Arg(0, 0, 1),
		check.Op("Scan", (*Snapshot).Scan),
		bounds)
}

func TestSnapshotRight(t *testing.T) { testSnapshot(t, false) }
func TestSnapshotWrong(t *testing.T) { testSnapshot(t, true) }

func testVersioned(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Versioned { return newVersioned(bad) },
		check.Op("Set", (*Versioned).Set),
		check.Op("Get", (*Versioned).Get),
		bounds)
}

func TestVersionedRight(t *testing.T) { testVersioned(t, false) }
func TestVersionedWrong(t *testing.T) { testVersioned(t, true) }

func testIDs(t *testing.T, bad bool) {
	check.Linearizable(t, func() *IDs { return newIDs(bad) },
		check.Op("Next", (*IDs).Next),
		bounds)
}

func TestIDsRight(t *testing.T) { testIDs(t, false) }
func TestIDsWrong(t *testing.T) { testIDs(t, true) }

func testStats(t *testing.T, bad bool) {
	check.Linearizable(t, func() *Stats { return newStats(bad) },
		check.Op("Add", (*Stats).Add),
		check.Op("Mean", (*Stats).Mean),
		bounds)
}

func TestStatsRight(t *testing.T) { testStats(t, false) }
func TestStatsWrong(t *testing.T) { testStats(t, true) }
