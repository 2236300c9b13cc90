//go:build !(linux && (amd64 || arm64))

package mpi

import (
	"errors"
	"os"
)

// World is MPI_COMM_WORLD; on this system there is none.
type World struct{}

// Sending is a message that is under way.
type Sending struct{}

var errSystem = errors.New("MPI is supported on Linux, on amd64 and arm64")

// Init returns ErrNone, or that MPI is not supported here.
func Init() (*World, error) {
	if _, ok := launched(os.Getenv); !ok {
		return nil, ErrNone
	}
	return nil, errSystem
}

// Rank returns 0.
func (w *World) Rank() int { return 0 }

// Size returns 1.
func (w *World) Size() int { return 1 }

// String returns "none".
func (w *World) String() string { return "none" }

// Send fails.
func (w *World) Send(int, []byte) (*Sending, error) { return nil, errSystem }

// Done returns true.
func (s *Sending) Done() (bool, error) { return true, nil }

// Receive fails.
func (w *World) Receive() (from int, m []byte, err error) { return 0, nil, errSystem }

// Abort does nothing.
func (w *World) Abort(int) {}

// Finalize does nothing.
func (w *World) Finalize() error { return nil }
