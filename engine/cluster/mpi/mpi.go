// Package mpi speaks MPI, the message-passing interface that clusters have,
// without cgo: the library is opened while the program runs.
//
//	w, err := mpi.Init()
//	defer w.Finalize()
//	sending, err := w.Send(1, message)
//
// One binary thus serves every cluster and every machine without MPI. The price
// is that the few things that MPI leaves to a library's header files have to
// be known here: how a communicator or a datatype is written, and what a
// status looks like. There are two families, and a table for each (see family):
// Open MPI, where handles are addresses, and MPICH with all that keep its
// binary interface (Intel MPI, MVAPICH, Cray MPICH), where they are numbers.
//
// What is here is what a search needs: messages of bytes between two ranks, in
// order for each pair, and not blocking. All calls have to come from the
// goroutine that called Init, which Init locks to its thread (MPI's level
// MPI_THREAD_FUNNELED).
//
// The existing bindings for Go (go-mpi, gompi and others) all are cgo around one
// library's headers, chosen when the program is built.
package mpi

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Library is the environment variable that names the MPI library to open, if
// the search for it finds the wrong one or none.
const Library = "CPOR_MPI_LIBRARY"

// ErrNone is the error of Init if this process was not started by an MPI
// launcher (mpirun, mpiexec, srun).
var ErrNone = errors.New("not started by mpirun, mpiexec or srun --mpi")

// launcher is what the environment says about who started this process.
type launcher struct {
	name string
	size int      // number of ranks; 0 if it does not say
	open bool     // it is more likely Open MPI than MPICH
	with []string // the command that starts ranks like these, without their number
}

// launchers are the environment variables by which launchers tell the number of
// ranks. The order matters: a process that Open MPI starts under Slurm has the
// variables of both.
var launchers = []struct {
	name, size string
	open       bool
	srun       bool // srun sets it, too
}{
	{"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", true, false},
	{"MPICH's mpirun", "PMI_SIZE", false, true},
	{"MVAPICH's mpirun", "MPIRUN_NPROCS", false, false},
	{"srun", "SLURM_STEP_NUM_TASKS", true, true},
}

// Command returns the command that starts a program, whose name and arguments go behind it, on
// so many ranks: with the launcher that started this process, or the one that is there.
func Command(ranks int) []string {
	return command(os.Getenv, ranks)
}

func command(env func(string) string, ranks int) []string {
	l, ok := launched(env)
	switch {
	case ok:
	case env("SLURM_JOB_ID") != "":
		l.with = []string{"srun", "--mpi=pmix"}
	default:
		l.with = []string{"mpirun"}
	}
	return append(l.with, "-n", strconv.Itoa(ranks))
}

// Ranks returns as how many ranks a launcher says that it has started this program; 0 if
// there is none, or it does not say.
func Ranks() int {
	l, _ := launched(os.Getenv)
	return l.size
}

// launched returns who started this process, by its environment.
func launched(env func(string) string) (launcher, bool) {
	for _, l := range launchers {
		s := env(l.size)
		if s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			continue
		}
		if l.name == "srun" && env("PMIX_RANK") == "" && env("PMI_RANK") == "" {
			continue // a step without an MPI: every task is a program of its own
		}
		found := launcher{name: l.name, size: n, open: l.open, with: []string{"mpirun"}}
		// With --mpi=pmi2 srun sets what MPICH's mpirun sets, but for MPI_LOCALNRANKS.
		if kind := env("SLURM_MPI_TYPE"); l.srun && kind != "" &&
			s == env("SLURM_STEP_NUM_TASKS") && env("MPI_LOCALNRANKS") == "" {
			found.name, found.with = "srun", []string{"srun", "--mpi=" + kind}
		} else if l.name == "srun" {
			found.with = []string{"srun"} // of a Slurm that does not tell the kind
		}
		return found, true
	}
	return launcher{}, false
}

// candidates are the names of libraries to try, the likeliest first.
func (l launcher) candidates(env func(string) string) []string {
	if name := env(Library); name != "" {
		return []string{name}
	}
	open := []string{"libmpi.so.40", "libmpi.so.80", "libmpi.so.20"}
	mpich := []string{"libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", "libmpi_gnu.so.12",
		"libmpich.so.10"}
	if l.open {
		return append(append(open, mpich...), "libmpi.so")
	}
	return append(append(mpich, open...), "libmpi.so")
}

// Error is a call of MPI that failed.
type Error struct {
	Call string // as MPI_Isend
	Code int
}

func (e *Error) Error() string { return fmt.Sprintf("%s failed with code %d", e.Call, e.Code) }
