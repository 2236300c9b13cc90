package statestore

import (
	"syscall"
	"unsafe"
)

const (
	arenaBytes = 64 << 20 // of the Go heap, which grows by so much
	pageBytes  = 2 << 20
	// collapse is MADV_COLLAPSE, which package syscall does not have.
	collapse = 25
)

// advise asks for huge pages: for the arena that p points into where it has not been
// touched yet, and at once for the page around p, which may have been. It is an advice, for
// addresses that are known by their numbers only: if they are nothing of ours, or
// the kernel has no huge pages, nothing comes of it.
func (t *table) advise(p unsafe.Pointer) {
	at := uintptr(p)
	if _, done := t.advised.LoadOrStore(at/arenaBytes, true); !done {
		syscall.Syscall(syscall.SYS_MADVISE, at&^(arenaBytes-1), arenaBytes, syscall.MADV_HUGEPAGE)
	}
	if _, done := t.collapsed.LoadOrStore(at/pageBytes, true); !done {
		syscall.Syscall(syscall.SYS_MADVISE, at&^(pageBytes-1), pageBytes, collapse)
	}
}
