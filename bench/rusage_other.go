//go:build !unix

package bench

import "os"

// maxRSS returns 0: the system does not tell.
func maxRSS(*os.ProcessState) uint64 { return 0 }
