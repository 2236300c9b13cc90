//go:build linux && (amd64 || arm64)

package mpi

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// family is what differs between the binary interfaces of MPI libraries.
type family struct {
	name      string
	world     uintptr // MPI_COMM_WORLD
	bytes     uintptr // MPI_BYTE
	returns   uintptr // MPI_ERRORS_RETURN
	anySource int32   // MPI_ANY_SOURCE
	source    int     // where MPI_SOURCE stands in an MPI_Status, in bytes
}

// anyTag is MPI_ANY_TAG in both families. threadFunneled is
// MPI_THREAD_FUNNELED in both.
const (
	anyTag         = -1
	threadFunneled = 1
)

// mpich is the family of MPICH: the constants of its binary interface, which
// Intel MPI, MVAPICH and Cray MPICH keep. A status begins with two counts.
var mpich = family{name: "MPICH", world: 0x44000000, bytes: 0x4c00010d, returns: 0x54000001,
	anySource: -2, source: 8}

// openMPI returns the family of Open MPI, whose handles are the addresses of
// the library's variables. A status begins with the source.
func openMPI(lib uintptr) (family, error) {
	f := family{name: "Open MPI", anySource: -1}
	for name, to := range map[string]*uintptr{
		"ompi_mpi_comm_world": &f.world, "ompi_mpi_byte": &f.bytes,
		"ompi_mpi_errors_return": &f.returns,
	} {
		var err error
		if *to, err = purego.Dlsym(lib, name); err != nil {
			return f, err
		}
	}
	return f, nil
}

// functions are the entry points of the library that are used.
type functions struct {
	initThread, rank, size, errhandler  uintptr
	isend, test, iprobe, getCount, recv uintptr
	abort, finalize                     uintptr
}

// World is MPI_COMM_WORLD: all ranks of this job. Its methods may be called
// only from the goroutine that called Init.
type World struct {
	path       string
	family     family
	fn         functions
	rank, size int

	// What MPI writes while it is called. It stands in the heap, not on a
	// stack, because Go moves stacks.
	flag, count, provided int32
	status                [64]byte
	buf                   []byte
}

// Init opens the MPI library and starts MPI. The calling goroutine is locked to
// its thread for good.
//
// The error is ErrNone if no launcher started this process, or says which
// libraries were tried.
func Init() (*World, error) {
	l, ok := launched(os.Getenv)
	if !ok {
		return nil, ErrNone
	}
	runtime.LockOSThread()
	w := &World{}
	var lib uintptr
	var tried []string
	for _, name := range l.candidates(os.Getenv) {
		// Open MPI's plug-ins look for its symbols among the global ones.
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			lib, w.path = h, name
			break
		}
		tried = append(tried, name)
	}
	if lib == 0 {
		return nil, fmt.Errorf("%s started this process, but no MPI library can be opened (tried "+
			"%s): load the MPI module, or name the library in %s",
			l.name, strings.Join(tried, ", "), Library)
	}
	var err error
	if _, serr := purego.Dlsym(lib, "ompi_mpi_comm_world"); serr == nil {
		w.family, err = openMPI(lib)
	} else {
		w.family = mpich
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.path, err)
	}
	for name, to := range map[string]*uintptr{
		"MPI_Init_thread": &w.fn.initThread, "MPI_Comm_rank": &w.fn.rank,
		"MPI_Comm_size":           &w.fn.size,
		"MPI_Comm_set_errhandler": &w.fn.errhandler, "MPI_Isend": &w.fn.isend,
		"MPI_Test":   &w.fn.test,
		"MPI_Iprobe": &w.fn.iprobe, "MPI_Get_count": &w.fn.getCount, "MPI_Recv": &w.fn.recv,
		"MPI_Abort": &w.fn.abort, "MPI_Finalize": &w.fn.finalize,
	} {
		if *to, err = purego.Dlsym(lib, name); err != nil {
			return nil, fmt.Errorf("%s is not an MPI library: %w", w.path, err)
		}
	}
	if err := w.start(); err != nil {
		return nil, fmt.Errorf("%s: %w", w.path, err)
	}
	if l.size > 0 && w.size != l.size {
		return nil, fmt.Errorf("%s started %d ranks, and %s (%s) sees %d: this is another MPI's "+
			"library; name the right one in %s",
			l.name, l.size, w.path, w.family.name, w.size, Library)
	}
	return w, nil
}

func (w *World) start() error {
	if err := call("MPI_Init_thread", w.fn.initThread, 0, 0, threadFunneled,
		addr(&w.provided)); err != nil {
		return err
	}
	if w.provided < threadFunneled {
		return fmt.Errorf("this MPI was built without threads (level %d)", w.provided)
	}
	if err := call("MPI_Comm_set_errhandler", w.fn.errhandler, w.family.world,
		w.family.returns); err != nil {
		return err
	}
	if err := call("MPI_Comm_rank", w.fn.rank, w.family.world, addr(&w.count)); err != nil {
		return err
	}
	w.rank = int(w.count)
	if err := call("MPI_Comm_size", w.fn.size, w.family.world, addr(&w.count)); err != nil {
		return err
	}
	w.size = int(w.count)
	return nil
}

// call calls a function of MPI; every one returns an int, 0 for success.
func call(name string, fn uintptr, args ...uintptr) error {
	if r, _, _ := purego.SyscallN(fn, args...); int32(r) != 0 {
		return &Error{Call: name, Code: int(int32(r))}
	}
	return nil
}

// addr returns the address of a part of the heap for a call. What it points to
// has to be reachable from somewhere else during the call.
func addr[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// Rank returns this process's number, from 0.
func (w *World) Rank() int { return w.rank }

// Size returns the number of ranks.
func (w *World) Size() int { return w.size }

// String names the library: "Open MPI (libmpi.so.40)".
func (w *World) String() string { return fmt.Sprintf("%s (%s)", w.family.name, w.path) }

// Sending is a message that is under way.
type Sending struct {
	w       *World
	m       []byte // keeps the message's memory
	request uint64 // an MPI_Request: an address, or a number in the lower half
	done    bool
}

// Send starts to send a message, of at most 2^31-1 bytes, to a rank. The
// message must not change until the sending is done.
func (w *World) Send(to int, m []byte) (*Sending, error) {
	s := &Sending{w: w, m: m}
	var data uintptr
	if len(m) > 0 {
		data = addr(&m[0])
	}
	err := call("MPI_Isend", w.fn.isend, data, uintptr(len(m)), w.family.bytes, uintptr(to), 0,
		w.family.world, addr(&s.request))
	runtime.KeepAlive(s)
	return s, err
}

// Done reports whether the message's memory may be used again.
func (s *Sending) Done() (bool, error) {
	if s.done {
		return true, nil
	}
	w := s.w
	w.flag = 0
	err := call("MPI_Test", w.fn.test, addr(&s.request), addr(&w.flag), addr(&w.status[0]))
	runtime.KeepAlive(s)
	if s.done = w.flag != 0; s.done {
		s.m = nil
	}
	return s.done, err
}

// Receive returns the next message that has arrived and who sent it, or nil if
// there is none. The message is valid until the next call.
func (w *World) Receive() (from int, m []byte, err error) {
	w.flag = 0
	if err := call("MPI_Iprobe", w.fn.iprobe, intArg(w.family.anySource), intArg(anyTag),
		w.family.world, addr(&w.flag), addr(&w.status[0])); err != nil {
		return 0, nil, err
	}
	if w.flag == 0 {
		return 0, nil, nil
	}
	from = int(int32(binary.NativeEndian.Uint32(w.status[w.family.source:])))
	if err := call("MPI_Get_count", w.fn.getCount, addr(&w.status[0]), w.family.bytes,
		addr(&w.count)); err != nil {
		return 0, nil, err
	}
	if n := int(w.count); cap(w.buf) < n || w.buf == nil {
		w.buf = make([]byte, max(n, 1<<16))
	}
	w.buf = w.buf[:cap(w.buf)]
	err = call("MPI_Recv", w.fn.recv, addr(&w.buf[0]), uintptr(w.count), w.family.bytes,
		uintptr(from), 0, w.family.world, addr(&w.status[0]))
	return from, w.buf[:w.count], err
}

// intArg passes a C int, whose upper half a register call leaves open.
func intArg(x int32) uintptr { return uintptr(uint32(x)) }

// Abort ends all ranks of the job with an exit code. It does not return if MPI
// does its duty.
func (w *World) Abort(code int) {
	_ = call("MPI_Abort", w.fn.abort, w.family.world, uintptr(code))
}

// Finalize ends MPI. Every rank has to call it, after it has received all that
// was sent to it.
func (w *World) Finalize() error { return call("MPI_Finalize", w.fn.finalize) }
