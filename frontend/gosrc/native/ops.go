package native

var opNames = [...]string{"", "starts", "go", "send", "receive", "select", "close", "len",
	"goes on", "Lock", "TryLock", "Unlock",
	"RLock", "TryRLock", "RUnlock", "WaitGroup.Add", "WaitGroup.Wait", "Once.Do", "Once.Do",
	"Cond.Wait", "Cond.Wait", "Cond.Signal",
	"Cond.Broadcast", "atomic load", "atomic store", "atomic update", "Map or Pool", "Sleep",
	"timer",
	"timer", "Gosched", "bubble", "outside",
	"reads the clock", "NumGoroutine", "network"}

// String returns the name of the operation.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "unknown"
}
