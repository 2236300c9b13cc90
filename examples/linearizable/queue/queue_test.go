package queue_test

import (
	"os"
	"testing"

	"cpor/check"
	"cpor/examples/linearizable/queue"
)

func TestQueue(t *testing.T) {
	if len(os.Environ()) > 0 && os.Getenv("SHOW_BUG") == "" {
		t.Skip("fails on purpose; cpor test shows how, and so does SHOW_BUG=1 go test")
	}
	check.LockFree(t, queue.New,
		check.Op("Put", (*queue.Queue).Put),
		check.Op("Take", (*queue.Queue).Take))
}
