// Package code runs models as machine code.
//
// A compiler in the front end of a language makes a WebAssembly module of a system with a
// [Builder]: one function that expands a whole state. Package wazero compiles that to
// machine code, without cgo. An [Instance] is a module with a memory of its own, for one worker.
//
//	          Expand(s)                        Next(&x)
//	state ───────────────▶ linear memory ───────────────▶ outcomes
//	words                  ┌───────────────────────┐      thread, kind, alternative,
//	                       │ state to be expanded  │      which words changed,
//	                       │ notes: what is counted│      the state: a slice of the memory
//	                       │ outcome │ outcome │ … │
//	                       └───────────────────────┘
//
// A state in the memory has the layout of the system's encoded states, so that nothing is
// encoded, and a step changes a copy, so that nothing is taken back. Which words a step
// changes is mostly known when it is compiled, so that nothing is compared.
//
// # What code does not do
//
// It tells no story, explains no error, and need not know every construct of its language. Where
// it meets a violated property, an error, or a place that it does not know, it takes back what
// it did of the thread and leaves that to the reference machine ([system.Successor].Left). So
// the code is right from the first construct on, and cannot trap: the emitters check indices and
// divisors, memory is of a fixed size, and depth is bounded. Should a call fail all the same,
// the instance is not used again, and the reference continues alone.
//
// Where wazero cannot compile (processors other than amd64 and arm64, systems that allow
// no executable memory), [Program.Start] fails, and the reference serves.
package code

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"cpor/system"
)

// Info describes a program to people.
type Info struct {
	// Places is how many places in the program threads can be at, and Left of how many of
	// them the code leaves everything or something to the reference.
	Places, Left int
}

// Program is a module that has been written. It is immutable.
type Program struct {
	Info
	accesses bool
	module   []byte
}

// Compiled is a program as machine code. Its methods may be called from many goroutines.
type Compiled struct {
	Info
	accesses bool
	runtime  wazero.Runtime
	module   wazero.CompiledModule
}

// maxModule is the largest module that is compiled: it takes a second or so.
const maxModule = 4 << 20

// maxCompilers is how many goroutines compile a module at most. The code does not depend on it.
const maxCompilers = 4

// Invalid, if it is not nil, is called with the error of a module that wazero refuses. Only tests
// set it: without code the reference serves, and nobody would see that an emitter has a fault.
var Invalid func(error)

// Start compiles a program. The error says why that cannot be done here.
func (p *Program) Start() (c *Compiled, err error) {
	// wazero panics where it does not know the processor.
	defer func() {
		if v := recover(); v != nil {
			c, err = nil, fmt.Errorf("no machine code: %v", v)
		}
	}()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return nil, fmt.Errorf("no machine code for %s", runtime.GOARCH)
	}
	if len(p.module) > maxModule {
		return nil, errors.New("no machine code: the model is too large")
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler())
	workers := min(runtime.GOMAXPROCS(0), maxCompilers)
	m, err := r.CompileModule(experimental.WithCompilationWorkers(ctx, workers), p.module)
	if err != nil {
		if Invalid != nil {
			Invalid(err)
		}
		r.Close(ctx)
		return nil, fmt.Errorf("no machine code: %w", err)
	}
	return &Compiled{Info: p.Info, accesses: p.accesses, runtime: r, module: m}, nil
}

// note is a number that code has noted, and how often.
type note struct{ number, times uint32 }

// Instance executes a program for one goroutine: its methods are a [system.Code].
type Instance struct {
	compiled *Compiled // holds the code
	expand   api.Function
	stack    [1]uint64
	memory   []byte
	words    []uint64 // the same
	counts   []uint64
	begin    func()
	at, end  uint32 // of the outcomes that are to be told
	last     int    // the thread of the outcome before; -1
	broken   bool
}

// New returns a new instance. What the code has noted is counted in counts, by its
// number. begin is called before each state.
func (c *Compiled) New(counts []uint64, begin func()) (*Instance, error) {
	ctx := context.Background()
	m, err := c.runtime.InstantiateModule(ctx, c.module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return nil, fmt.Errorf("no machine code: %w", err)
	}
	memory, ok := m.Memory().Read(0, m.Memory().Size())
	if !ok || uintptr(unsafe.Pointer(&memory[0]))%8 != 0 {
		return nil, errors.New("no machine code: the memory is not aligned")
	}
	x := &Instance{
		compiled: c, expand: m.ExportedFunction("expand"), memory: memory,
		words: unsafe.Slice((*uint64)(unsafe.Pointer(&memory[0])), len(memory)/8), counts: counts,
		begin: begin,
	}
	x.setRange(0, MaxThreads)
	return x, nil
}

// setRange sets the threads that are expanded.
func (x *Instance) setRange(first, last int) {
	x.words[wanted/8] = uint64(uint32(first)) | uint64(uint32(last))<<32
}

// Range is that of [system.Code]; nil if the code tells no accesses.
func (x *Instance) Range() func(first, last int) {
	if !x.compiled.accesses {
		return nil
	}
	return x.setRange
}

// Expand is that of [system.Code].
func (x *Instance) Expand(s system.State) bool {
	if x.broken || len(s) > MaxWords {
		return false
	}
	x.begin()
	copy(x.words[source/8:], s)
	x.stack[0] = uint64(len(s))
	if err := x.expand.CallWithStack(context.Background(), x.stack[:]); err != nil {
		x.broken = true
		return false
	}
	x.at, x.end, x.last = outcomes, uint32(x.stack[0]), -1
	if n := uint32(x.stack[0]>>32) - notes; n > 0 {
		for _, n := range unsafe.Slice((*note)(unsafe.Pointer(&x.memory[notes])), n/8) {
			x.counts[n.number] += uint64(n.times)
		}
	}
	return true
}

// Next is that of [system.Code].
func (x *Instance) Next(s *system.Successor) bool {
	for x.at < x.end {
		h := x.words[x.at/8:][:header/8]
		first, words := uint32(h[0]), uint32(h[0]>>32)
		state := x.at/8 + header/8
		x.at += header + 8*words
		if kind(first) == skipped {
			continue
		}
		s.Thread, s.Left, s.Several = int(first>>16), false, false
		if x.compiled.accesses {
			s.Accesses = nil
			if k := kind(first); k == moved || k == blocked {
				s.Accesses = x.accessed(h[4])
			}
			s.Behind = s.Thread == x.last && (kind(first) != moved || h[1] == 0)
			x.last = s.Thread
		}
		switch kind(first) {
		case moved:
			s.Kind, s.Alt, s.Changed = system.Moved, h[1], h[2]
			s.End = x.words[state : state+words : state+words]
			if n := h[3]; n != 0 {
				x.counts[n-1]++
			}
		case blocked:
			s.Kind, s.AtEnd = system.Blocked, first>>8&0xff != 0
		case ended:
			s.Kind = system.Ended
		case left:
			s.Left = true
		case several:
			s.Several = true
		}
		return true
	}
	return false
}

// accessed returns the accesses between two addresses.
func (x *Instance) accessed(between uint64) []system.Access {
	from, to := uint32(between), uint32(between>>32)
	if from == to {
		return nil
	}
	return unsafe.Slice((*system.Access)(unsafe.Pointer(&x.memory[from])), (to-from)/accessBytes)
}

// Limits are those of [system.Code].Ahead; nil if the code tells no accesses.
func (x *Instance) Limits() []uint16 {
	if !x.compiled.accesses {
		return nil
	}
	return unsafe.Slice((*uint16)(unsafe.Pointer(&x.memory[limits])), MaxThreads)
}
