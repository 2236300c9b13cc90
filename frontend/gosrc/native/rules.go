package native

// A rule changes a file of the installed Go distribution, by the names of what it declares.
type rule struct {
	file string // below GOROOT/src
	kind ruleKind
	name string // of a function, "(*T).Method" for a method; of a constant; of a type
	code string // statements, the constant's value, or the field
	// optional: the distribution may do without what is named.
	optional bool
}

type ruleKind uint8

const (
	atHead  ruleKind = iota // the statements come before the function's own
	toValue                 // the constant has another value
	inType                  // the struct has a further field
)

// Statements that several functions get.
const (
	fileDone     = `if e != 0 { return ^uintptr(0), 0, Errno(e) }; return r, 0, 0 }`
	ignoreOption = `if fd.cpor != nil { return fd.cpor.option() }`
	needsSocket  = `if fd.cpor != nil { cporNetReal() }`
)

// rules put our scheduler and race detector into the run-time, and a point before each
// operation that synchronizes.
var rules = []rule{
	// Goroutines: who is made, who has ended, who runs next.
	{file: "runtime/proc.go", name: "newproc",
		code: `if cporNewproc(fn, sys.GetCallerPC()) { return }`},
	{file: "runtime/proc.go", name: "goexit0", code: `if cporOn { cporGoexit(gp) }`},
	{file: "runtime/proc.go", name: "schedule",
		code: `if cporOn { cporHookSchedule() } else if cporNHeld > 0 { cporHookFree() }`},
	{file: "runtime/proc.go", name: "execute", code: `if cporOn { cporHookResumed(gp) }`},
	{file: "runtime/proc.go", name: "ready", code: `if cporOn && cporHookReady(gp) { return }`},
	{file: "runtime/proc.go", name: "Gosched", code: `if cporOn && cporHookYield() { return }`},
	{file: "runtime/proc.go", kind: toValue, name: "haveSysmon", code: "false"},
	{file: "runtime/debug.go", name: "NumGoroutine",
		code: `if cporOn { if n := cporGoroutines(); n > 0 { return n } }`},
	{file: "runtime/debug.go", name: "GOMAXPROCS", code: `if cporOn { return int(gomaxprocs) }`},

	// Channels.
	{file: "runtime/chan.go", name: "chansend",
		code: `if cporOn { if done, ok := cporChansend(c, ep, block); done { return ok } }`},
	{file: "runtime/chan.go", name: "chanrecv",
		code: `if cporOn { if done, s, ok := cporChanrecv(c, ep, block); done { return s, ok } }`},
	{file: "runtime/chan.go", name: "closechan", code: `if cporOn && cporClosechan(c) { return }`},
	{file: "runtime/chan.go", name: "chanlen", code: `if cporOn { cporChanlen(c) }`},
	{file: "runtime/select.go", name: "selectgo",
		code: `if cporOn { if done, i, ok := cporSelectgo(cas0, nsends, nrecvs, block); done { return i, ok } }`},
	{file: "runtime/select.go", name: "block", code: `if cporOn { cporBlock() }`},

	// Time.
	{file: "runtime/time.go", name: "timeSleep", code: `if cporOn && cporSleep(ns) { return }`},
	{file: "runtime/proc.go", name: "schedinit", code: `cporSchedinit()`},
	{file: "runtime/mgc.go", name: "gcenable", code: `cporBeginFree()`},
	{file: "runtime/time_fake.go", name: "nanotime",
		code: `if faketime == 0 { return nanotime1() }`},
	{file: "runtime/time_fake.go", name: "time_now",
		code: `if faketime == 0 { s, n := cporWallTime(); return s, n, nanotime1() }`},
	{file: "runtime/time.go", name: "newTimer",
		code: `if cporOn { ` +
			`if t := cporNewTimer(when, period, f, arg, c); t != nil { return t } ` +
			`} else if cporKeepsTimer() { ` +
			`t := newTimer(when, period, f, arg, c); cporKeepTimer(t); return t }`},
	{file: "runtime/time.go", name: "stopTimer",
		code: `if cporOn { if done, was := cporSetTimer(t, 0, 0, false); done { return was } }`},
	{file: "runtime/time.go", name: "resetTimer",
		code: `if cporOn { if done, was := cporSetTimer(t, when, period, true); done { return was } }`},
	{file: "time/time.go", name: "Now", code: `cporClock()`},
	{file: "time/time.go", name: "Since", code: `if t.wall&hasMonotonic != 0 { cporClock() }`},
	{file: "time/time.go", name: "Until", code: `if t.wall&hasMonotonic != 0 { cporClock() }`},
	{file: "runtime/time_fake.go", name: "write",
		code: `if fd == 1 || fd == 2 { if cporWrite(fd, p, n) { return n }; return write1(fd, p, n) }`},

	// A test in a bubble is the test itself.
	{file: "testing/synctest/synctest.go", name: "Test",
		code: `if cporRun(func() { cporIn(t, f) }) { return }`, optional: true},
	{file: "runtime/synctest.go", name: "synctestRun",
		code: `if cporOn && cporBubbleRun(f) { return }`},
	{file: "runtime/synctest.go", name: "synctestWait",
		code: `if cporOn && cporBubbleWaits() { return }`},

	// Outside.
	// What is mapped at a certain place will be mapped there again.
	{file: "runtime/cgo_mmap.go", name: "mmap", code: `if flags&_MAP_FIXED == 0 { cporChanges++ }`},
	{file: "runtime/cgo_mmap.go", name: "munmap", code: `cporChanges++`},
	{file: "runtime/os_linux.go", name: "newosproc", code: `cporChanges++`},
	{file: "runtime/os_linux.go", name: "setsig", code: `cporChanges++`},
	{file: "runtime/netpoll_epoll.go", name: "netpollinit", code: `cporChanges++`},
	{file: "runtime/proc.go", name: "entersyscall", code: `if cporOn { cporOutside = true }`},
	{file: "syscall/syscall_linux.go", name: "Syscall",
		code: `if r, e, done := cporFile(trap, a1, a2, a3, 0, 0, 0); done { ` + fileDone},
	{file: "syscall/syscall_linux.go", name: "Syscall6",
		code: `if r, e, done := cporFile(trap, a1, a2, a3, a4, a5, a6); done { ` + fileDone},
	{file: "syscall/zsyscall_linux_amd64.go", name: "Getpid", code: `if true { return cporPid }`},
	{file: "syscall/syscall_linux.go", name: "RawSyscall6",
		code: `cporChanges++; if a1 == cporPid { a1 = cporRealPid(trap) }`},
	{file: "syscall/exec_unix.go", name: "forkExec", code: `cporForks()`},
	{file: "os/exec.go", name: "(*Process).Wait", code: `if cporOn() { cporAwait(p) }`},
	{file: "syscall/env_unix.go", name: "Setenv", code: `cporOld()`},
	{file: "syscall/env_unix.go", name: "Unsetenv", code: `cporOld()`},
	{file: "syscall/env_unix.go", name: "Clearenv", code: `cporOld()`},
	{file: "runtime/vgetrandom_linux.go", name: "vgetrandom",
		code: `if cporOn && cporMe() != nil { return -1, false }`, optional: true},

	// The network: a connection of the loopback is in memory.
	{file: "net/fd_posix.go", kind: inType, name: "netFD", code: `cpor *loopback`},
	{file: "net/sock_posix.go", name: "socket",
		code: `if fd, err, done := cporSocket(ctx, net, family, sotype, laddr, raddr, ` +
			`ctrlCtxFn != nil); done { return fd, err }; cporNetEarly()`},
	{file: "net/fd_posix.go", name: "(*netFD).Read",
		code: `if fd.cpor != nil { return fd.cpor.Read(p) }`},
	{file: "net/fd_posix.go", name: "(*netFD).Write",
		code: `if fd.cpor != nil { return fd.cpor.Write(p) }`},
	{file: "net/fd_posix.go", name: "(*netFD).Close",
		code: `if fd.cpor != nil { return fd.cporClose() }`},
	{file: "net/fd_posix.go", name: "(*netFD).closeRead",
		code: `if fd.cpor != nil { return fd.cpor.closeRead() }`},
	{file: "net/fd_posix.go", name: "(*netFD).closeWrite",
		code: `if fd.cpor != nil { return fd.cpor.closeWrite() }`},
	{file: "net/fd_posix.go", name: "(*netFD).SetDeadline",
		code: `if fd.cpor != nil { return fd.cpor.SetDeadline(t) }`},
	{file: "net/fd_posix.go", name: "(*netFD).SetReadDeadline",
		code: `if fd.cpor != nil { return fd.cpor.SetReadDeadline(t) }`},
	{file: "net/fd_posix.go", name: "(*netFD).SetWriteDeadline",
		code: `if fd.cpor != nil { return fd.cpor.SetWriteDeadline(t) }`},
	{file: "net/fd_unix.go", name: "(*netFD).accept",
		code: `if fd.cpor != nil { return fd.cporAccept() }`},
	{file: "net/fd_unix.go", name: "(*netFD).dup", code: needsSocket},
	{file: "net/rawconn.go", name: "newRawConn", code: needsSocket},
	{file: "net/rawconn.go", name: "newRawListener", code: needsSocket},
	{file: "net/sockopt_posix.go", name: "setReadBuffer", code: ignoreOption},
	{file: "net/sockopt_posix.go", name: "setWriteBuffer", code: ignoreOption},
	{file: "net/sockopt_posix.go", name: "setKeepAlive", code: ignoreOption},
	{file: "net/tcpsockopt_posix.go", name: "setNoDelay", code: ignoreOption},
	{file: "net/tcpsockopt_unix.go", name: "setKeepAliveIdle", code: ignoreOption},
	{file: "net/tcpsockopt_unix.go", name: "setKeepAliveInterval", code: ignoreOption},
	{file: "net/tcpsockopt_unix.go", name: "setKeepAliveCount", code: ignoreOption},
	{file: "net/sockopt_posix.go", name: "setLinger",
		code: `if fd.cpor != nil { return fd.cpor.linger(sec) }`},
	{file: "net/tcpsock_posix.go", name: "(*TCPConn).readFrom",
		code: `if c.fd.cpor != nil { return genericReadFrom(c, r) }`},
	{file: "net/tcpsock_posix.go", name: "(*TCPConn).writeTo",
		code: `if c.fd.cpor != nil { return genericWriteTo(c, w) }`},
	{file: "net/unixsock_posix.go", name: "(*UnixListener).close",
		code: `if ln.fd.cpor != nil { return ln.fd.Close() }`},
	{file: "net/ipsock.go", name: "supportsIPv4", code: `if cporNetOn() { return true }`},
	{file: "net/ipsock.go", name: "supportsIPv6", code: `if cporNetOn() { return true }`},
	{file: "net/ipsock.go", name: "supportsIPv4map", code: `if cporNetOn() { return true }`},
	{file: "net/dial.go", name: "(*mptcpStatusDial).get", code: `if cporNetOn() { return false }`},
	{file: "net/dial.go", name: "(*mptcpStatusListen).get", code: `if cporNetOn() { return false }`},
	{file: "net/dial.go", name: "(*Dialer).DialContext",
		code: `if cporNetOn() { return d.dialLoopback(ctx, network, address) }`},
	{file: "net/lookup.go", name: "(*Resolver).lookupIPAddr",
		code: `if cporNetOn() { return lookupLoopback(ctx, host) }`},
	{file: "net/lookup_unix.go", name: "(*Resolver).lookupHost",
		code: `if cporNetOn() { return namesOfLoopback(ctx, host) }`},
	// It only reports what the server waits for.
	{file: "net/http/httptest/server.go", name: "(*Server).logCloseHangDebugInfo",
		code: `if true { return }`, optional: true},

	// Ends.
	{file: "runtime/panic.go", name: "fatalpanic", code: `cporFatalpanic(msgs)`},
	{file: "runtime/panic.go", name: "throw", code: `if cporOn { cporHookThrow(s, cporFailThrow) }`},
	{file: "runtime/panic.go", name: "fatal", code: `if cporOn { cporHookThrow(s, cporFailFatal) }`},
	{file: "runtime/runtime.go", name: "syscall_Exit", code: `cporExits(int32(code))`},

	// What differs from run to run.
	{file: "runtime/rand.go", name: "rand", code: `if x, ok := cporDraw(); ok { return x }`},
	{file: "internal/runtime/maps/table.go", name: "(*Iter).Init",
		code: `if m != nil && m.used > 1 { cporRanges() }`},
	{file: "runtime/alg.go", name: "typehash",
		code: `if t.PtrBytes != 0 { if x, ok := cporTypehash(t, p, h); ok { return x } }`},
	{file: "runtime/rand.go", name: "cheaprand", code: `if cporOn { return 1 }`},
	{file: "runtime/rand.go", name: "randinit", code: `startupRand = cporStartup[:]`},
	{file: "runtime/panic.go", name: "newdefer",
		code: `if cporOn { d := new(_defer); d.heap = true; return d }`},
	{file: "runtime/mgc.go", name: "GC", code: `if cporOn { return }`},
	{file: "runtime/malloc.go", name: "mallocgc",
		code: `if cporOn && cporAllocated+int64(size) > cporCollectAt { cporCollect() }`},
	{file: "runtime/mheap.go", name: "internal_weak_runtime_registerWeakPointer",
		code: `if cporOn { cporNewPin(p) }`},
	{file: "runtime/mfinal.go", name: "queuefinalizer",
		code: `if cporDropsFinal(fn.fn) { return }`},
	{file: "runtime/mcleanup.go", name: "(*cleanupQueue).enqueue",
		code: `if cporDriver != nil { return }`, optional: true},
	{file: "runtime/mfinal.go", name: "createfing", code: `if cporOn { return }`},
	{file: "runtime/mcleanup.go", name: "(*cleanupQueue).createGs", code: `if cporOn { return }`,
		optional: true},

	// Package sync.
	{file: "internal/sync/mutex.go", name: "(*Mutex).Lock",
		code: `if cporDo(cporOpLock, unsafe.Pointer(m), 0) >= 0 { return }`},
	{file: "internal/sync/mutex.go", name: "(*Mutex).TryLock",
		code: `if r := cporDo(cporOpTryLock, unsafe.Pointer(m), 0); r >= 0 { return r == 1 }`},
	{file: "internal/sync/mutex.go", name: "(*Mutex).Unlock",
		code: `if r := cporDo(cporOpUnlock, unsafe.Pointer(m), 0); r >= 0 { if r == 0 { fatal("sync: unlock of unlocked mutex") }; return }`},
	{file: "sync/rwmutex.go", name: "(*RWMutex).RLock",
		code: `if cporDo(cporOpRLock, unsafe.Pointer(rw), 0) >= 0 { return }`},
	{file: "sync/rwmutex.go", name: "(*RWMutex).TryRLock",
		code: `if r := cporDo(cporOpTryRLock, unsafe.Pointer(rw), 0); r >= 0 { return r == 1 }`},
	{file: "sync/rwmutex.go", name: "(*RWMutex).RUnlock",
		code: `if r := cporDo(cporOpRUnlock, unsafe.Pointer(rw), 0); r >= 0 { if r == 0 { fatal("sync: RUnlock of unlocked RWMutex") }; return }`},
	{file: "sync/rwmutex.go", name: "(*RWMutex).Lock",
		code: `if cporDo(cporOpAnnounce, unsafe.Pointer(rw), 0) >= 0 { cporDo(cporOpWait, unsafe.Pointer(rw), 1); return }`},
	{file: "sync/rwmutex.go", name: "(*RWMutex).TryLock",
		code: `if r := cporDo(cporOpTryWLock, unsafe.Pointer(rw), 0); r >= 0 { return r == 1 }`},
	{file: "sync/rwmutex.go", name: "(*RWMutex).Unlock",
		code: `if r := cporDo(cporOpWUnlock, unsafe.Pointer(rw), 0); r >= 0 { if r == 0 { fatal("sync: Unlock of unlocked RWMutex") }; return }`},
	{file: "sync/waitgroup.go", name: "(*WaitGroup).Add",
		code: `if r := cporDo(cporOpAdd, unsafe.Pointer(wg), uintptr(delta)); r >= 0 { if r == 1 { panic("sync: negative WaitGroup counter") }; return }`},
	{file: "sync/waitgroup.go", name: "(*WaitGroup).Wait",
		code: `if cporDo(cporOpWait, unsafe.Pointer(wg), 0) >= 0 { return }`},
	{file: "sync/once.go", name: "(*Once).Do",
		code: `if r := cporDo(cporOpOnce, unsafe.Pointer(o), 0); r >= 0 { if r == 2 { defer cporDo(cporOpOnceDone, unsafe.Pointer(o), 0); f() }; return } else if r == cporCalmOnce { cporCalm(1); defer cporCalm(-1) }`},
	{file: "sync/cond.go", name: "(*Cond).Wait",
		code: `if cporOn() { c.checker.check(); if t := cporDo(cporOpCondWait, unsafe.Pointer(&c.notify), 0); t >= 0 { c.L.Unlock(); cporDo(cporOpCondWoken, unsafe.Pointer(&c.notify), uintptr(t)); c.L.Lock(); return } }`},
	{file: "sync/cond.go", name: "(*Cond).Signal",
		code: `if cporOn() { c.checker.check(); if cporDo(cporOpSignal, unsafe.Pointer(&c.notify), 0) >= 0 { return } }`},
	{file: "sync/cond.go", name: "(*Cond).Broadcast",
		code: `if cporOn() { c.checker.check(); if cporDo(cporOpBroadcast, unsafe.Pointer(&c.notify), 0) >= 0 { return } }`},
	{file: "sync/cond.go", name: "(*copyChecker).check", code: `cporCalm(1); defer cporCalm(-1)`},
	{file: "sync/pool.go", name: "(*Pool).Put", code: `if true { p.cporPut(x); return }`},
	{file: "sync/pool.go", name: "(*Pool).Get", code: `if true { return p.cporGet() }`},
	{file: "sync/map.go", name: "(*Map).Load",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 0)()`},
	{file: "sync/map.go", name: "(*Map).Store",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 1)()`},
	{file: "sync/map.go", name: "(*Map).Clear",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 1)()`},
	{file: "sync/map.go", name: "(*Map).LoadOrStore",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 1)()`},
	{file: "sync/map.go", name: "(*Map).LoadAndDelete",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 1)()`},
	{file: "sync/map.go", name: "(*Map).Delete",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 1)()`},
	{file: "sync/map.go", name: "(*Map).Swap",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 1)()`},
	{file: "sync/map.go", name: "(*Map).CompareAndSwap",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 1)()`},
	{file: "sync/map.go", name: "(*Map).CompareAndDelete",
		code: `defer cporWhole(cporOpMap, unsafe.Pointer(m), 1)()`},
	{file: "sync/map.go", name: "(*Map).Range", code: `if cporOn() { cporRange(m, f); return }`},

	// An atomic.Value consists of two words.
	{file: "sync/atomic/value.go", name: "(*Value).Load",
		code: `defer cporWhole(cporOpLoad, unsafe.Pointer(v), 0)()`},
	{file: "sync/atomic/value.go", name: "(*Value).Store",
		code: `defer cporWhole(cporOpStore, unsafe.Pointer(v), 0)()`},
	{file: "sync/atomic/value.go", name: "(*Value).Swap",
		code: `defer cporWhole(cporOpStore, unsafe.Pointer(v), 0)()`},
	{file: "sync/atomic/value.go", name: "(*Value).CompareAndSwap",
		code: `defer cporWhole(cporOpStore, unsafe.Pointer(v), 0)()`},

	// Package testing.
	{file: "testing/testing.go", name: "(*M).Run", code: `if m.cporMain() { return 0 }`},
	{file: "testing/testing.go", name: "(*common).resetRaces", // right before the test
		code: `if c.level == 1 { cporTestBegins() }`},
	{file: "testing/testing.go", name: "(*T).report", // formats the time for nothing otherwise
		code: `t.cporEnds(); if t.chatty == nil && !t.Failed() { return }`},
	{file: "testing/testing.go", kind: inType, name: "common", code: `cporOwner uint64`},
	{file: "testing/testing.go", name: "(*common).Output", code: `c.cporLooks()`, optional: true},
	{file: "testing/testing.go", name: "(*outputWriter).Write",
		code: `if o != nil && o.c != nil { o.c.cporLooks() }`, optional: true},
	{file: "testing/testing.go", name: "tRunner", code: `t.cporRuns()`},
	{file: "testing/testing.go", name: "(*T).Parallel", code: `t.cporTells(cporTestParallel, "")`},
	{file: "testing/testing.go", name: "(*common).Context", code: `cporUsesContext()`},
	{file: "testing/testing.go", name: "(*common).Skip", code: `c.cporSkip("", args...)`},
	{file: "testing/testing.go", name: "(*common).Skipf", code: `c.cporSkip(format, args...)`},
	{file: "testing/testing.go", name: "(*common).SkipNow", code: `c.cporTells(cporTestSkips, "")`},
	{file: "testing/testing.go", name: "(*common).log",
		code: `cporSays(s); c.cporLooks(); cporCalm(1); defer cporCalm(-1)`},
	{file: "testing/testing.go", name: "(*common).Error",
		code: `c.checkFuzzFn("Error"); c.cporFails(fmt.Sprintln(args...))`},
	{file: "testing/testing.go", name: "(*common).Errorf",
		code: `c.checkFuzzFn("Errorf"); c.cporFails(fmt.Sprintf(format, args...))`},
	{file: "testing/testing.go", name: "(*common).Fatal",
		code: `c.checkFuzzFn("Fatal"); c.cporFails(fmt.Sprintln(args...))`},
	{file: "testing/testing.go", name: "(*common).Fatalf",
		code: `c.checkFuzzFn("Fatalf"); c.cporFails(fmt.Sprintf(format, args...))`},
	{file: "testing/testing.go", name: "(*common).Fail", code: `c.cporFails(c.name + " failed")`},
	{file: "testing/testing.go", name: "(*common).FailNow",
		code: `c.cporFails(c.name + " failed")`},
}

// added are files of ours in the packages of the distribution: a path below GOROOT/src and a
// file of this package's overlay. Those that are there are replaced.
var added = [][2]string{
	{"runtime/race.go", "runtime_race.go.txt"},
	{"runtime/cpor_shadow.go", "runtime_shadow.go.txt"},
	{"runtime/cpor_sched.go", "runtime_sched.go.txt"},
	{"runtime/cpor_clocks.go", "runtime_clocks.go.txt"},
	{"runtime/cpor_tell.go", "runtime_tell.go.txt"},
	{"runtime/cpor_collect.go", "runtime_collect.go.txt"},
	{"runtime/cpor_restore.go", "runtime_restore.go.txt"},
	{"runtime/cpor_hash.go", "runtime_hash.go.txt"},
	{"runtime/cpor_again.go", "runtime_again.go.txt"},
	{"internal/sync/cpor.go", "sync_cpor.go.txt"},
	{"sync/cpor.go", "sync_cpor.go.txt"},
	{"sync/cpor_map.go", "sync_map.go.txt"},
	{"sync/cpor_pool.go", "sync_pool.go.txt"},
	{"sync/atomic/cpor.go", "sync_cpor.go.txt"},
	{"testing/synctest/cpor.go", "synctest_cpor.go.txt"},
	{"time/cpor.go", "time_cpor.go.txt"},
	{"internal/runtime/maps/cpor.go", "maps_cpor.go.txt"},
	{"testing/cpor.go", "testing_cpor.go.txt"},
	{"runtime/cpor_files.go", "runtime_files.go.txt"},
	{"syscall/cpor.go", "syscall_cpor.go.txt"},
	{"os/cpor.go", "os_cpor.go.txt"},
	{"runtime/cpor_net.go", "runtime_net.go.txt"},
	{"net/cpor.go", "net_cpor.go.txt"},
}

// emptied are files of assembly that lead to the race detector of the distribution.
var emptied = []string{"runtime/race_amd64.s", "runtime/race_arm64.s"}
