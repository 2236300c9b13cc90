package native

import (
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"
)

// ownGroup puts a command's process into a group of its own, which dies with this process.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup kills a started command with the processes that it has forked.
func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// pipe makes a pipe whose ends block in system calls.
func pipe() (r, w *os.File, err error) {
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC); err != nil {
		return nil, nil, os.NewSyscallError("pipe2", err)
	}
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}

// hold takes the lock of a file, which ends with the process; it is an error if another has it.
func hold(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// soon reads from a pipe what mostly comes soon. It awaits that in system calls of which the
// run-time does not know: then nobody takes away the processor meanwhile, and wakes up others for
// it. What takes longer is read as usual, so that the run-time can collect garbage.
type soon struct{ *os.File }

// isSoon is how long that is.
const isSoon = 500 * time.Microsecond

func (f soon) Read(b []byte) (int, error) {
	const pollIn = 1
	p := struct {
		fd              int32
		events, revents int16
	}{int32(f.Fd()), pollIn, 0}
	wait := syscall.NsecToTimespec(int64(isSoon))
	n, _, e := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1,
		uintptr(unsafe.Pointer(&wait)), 0, 0, 0)
	if e == 0 && n == 1 && p.revents&pollIn != 0 && len(b) > 0 {
		n, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(p.fd),
			uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if e == 0 && n > 0 {
			return int(n), nil
		}
	}
	return f.File.Read(b)
}
