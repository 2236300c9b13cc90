package memory

// Resident returns the memory that the process occupies, in bytes; where the
// operating system does not tell, what the Go runtime has obtained from it.
//
// Linux's /proc is read here, and not by a library as elsewhere, which brings more along than all
// searches need.
func Resident() uint64 {
	if n := residentOf("self"); n > 0 {
		return n
	}
	return runtimeMemory()
}
