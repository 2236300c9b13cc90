package native

var opNames = [...]string{"", "starts", "go", "send", "receive", "select", "close", "len",
	"goes on", "Lock", "TryLock", "Unlock",
	"RLock", "TryRLock", "RUnlock", "WaitGroup.Add", "WaitGroup.Wait", "Once.Do", "Once.Do",
	"Cond.Wait", "Cond.Wait", "Cond.Signal",
	"Cond.Broadcast", "atomic load", "atomic store", "atomic update", "Map or Pool", "Sleep",
	"timer",
	"timer", "Gosched", "bubble", "outside",
	"reads the clock", "NumGoroutine", "network",
	"end of the test"}

// String returns the name of the operation.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "unknown"
}

// bubbleLeave is the number of what waits for the end of a bubble, as in
// overlay/runtime_clocks.go.txt.
const bubbleLeave = 2

// waitsFor says what a goroutine waits for that cannot go on.
func waitsFor(o Op, bubble uint64) string {
	switch {
	case o == OpNone:
		return "waits in select {}"
	case o == OpBubble && bubble == bubbleLeave:
		return "waits for the other goroutines of its bubble"
	case o == OpBubble:
		return "waits in synctest.Wait"
	}
	return "waits: " + o.String()
}
