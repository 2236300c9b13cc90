// Package interrupt ends a context at the first interruption of the process.
//
// It takes the signals over in its initialization and imports as little as it
// can: Go initializes the packages that are ready in the order of their paths
// once what they import is, so that this one comes long before that of the
// profiles. An interruption while these are made ready, some
// milliseconds, ends the search that has not begun, with a result, and does not
// kill the process without one.
package interrupt

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

var (
	// Context ends at the first interruption or request to terminate. After
	// that the signals do what they always do, and the second one kills.
	Context context.Context
	stop    context.CancelFunc
)

func init() {
	Context, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(Context, stop)
}
