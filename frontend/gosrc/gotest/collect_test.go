package gotest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/testkit/sample"
)

// TestCollect: it makes no difference how often garbage is collected.
func TestCollect(t *testing.T) {
	defer machine.CollectAfter(machine.CollectAfter(1))
	t.Run("lost", TestLostNeverMove)
	if sample.Long() {
		t.Run("engines", TestEnginesAgree)
		t.Run("library", TestLibrary)
	}
}

// TestGarbage: an execution may allocate more than there is memory, in one step and in many, and
// an initializer may; what is in use is kept.
func TestGarbage(t *testing.T) {
	defer machine.CollectAfter(machine.CollectAfter(1 << 12))
	const limit = 300 << 20 // each program allocates about 700 MB, shadows included
	c := load(t, `package m

import (
	"sync"
	"testing"
)

type node struct {
	next *node
	v    [2000]int
}

var initial = work(10000)

// work makes a list of every 1000th node.
func work(n int) (list *node) {
	for i := range n {
		x := &node{v: [2000]int{i}}
		if i%1000 == 0 {
			x.next, list = list, x
		}
	}
	return list
}

func look(t *testing.T, list *node, n int) {
	for i := n - 1000; i >= 0; i -= 1000 {
		if list.v[0] != i || list.v[1999] != 0 {
			t.Error(i, list.v[0])
		}
		list = list.next
	}
}

func TestOne(t *testing.T) {
	look(t, work(10000), 10000)
	look(t, initial, 10000)
}

func TestMany(t *testing.T) {
	var mu sync.Mutex
	var last, kept *node
	done := make(chan bool)
	run := func() {
		for i := range 20 {
			mu.Lock()
			last = work(250)
			if kept == nil {
				kept = &node{v: [2000]int{i + 1}}
			}
			mu.Unlock()
		}
		done <- true
	}
	go run()
	go run()
	<-done
	<-done
	if last.v[0] != 0 || kept.v[0] != 1 {
		t.Error(last.v[0], kept.v[0])
	}
}
`)
	for name, verdict := range map[string]engine.Verdict{"TestOne": engine.Pass,
		"TestMany": engine.Incomplete} {
		p, err := c.Test(name, gosrc.Explore{MaxMemory: limit})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Timeout: 10 * time.Minute}
		if verdict == engine.Incomplete {
			o.Timeout = 2 * time.Second
		}
		res, err := Run(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		if res.Verdict != verdict || strings.Contains(res.Reason, "memory") || res.Samples == 0 {
			t.Errorf("%s: %s", name, fmt.Sprintf("%+v, %+v", res, res.Failure))
		}
	}
}
