package memory

import (
	"os/exec"
	"runtime"
	"testing"
	"time"
)

func TestTree(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who the descendants are")
	}
	before := Tree()
	// A shell whose child takes 64 MB.
	c := exec.Command("sh", "-c", "head -c 64000000 /dev/zero | { tail -c 64000000 | sleep 60; }")
	if err := c.Start(); err != nil {
		t.Skip(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(
		10 * time.Millisecond) {
		if Tree() > before+48<<20 {
			return
		}
	}
	t.Errorf("%d bytes before, %d with a child that takes 64 MB", before, Tree())
}
