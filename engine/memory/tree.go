package memory

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Tree returns the memory that the process and its descendants occupy, in bytes. Memory that they
// share counts once for each. Where the operating system does not tell who the descendants are,
// it is that of the process.
func Tree() uint64 { return Resident() + descendants("self", 0) }

// descendants returns the memory of the descendants of a process. What has ended meanwhile has
// none.
func descendants(pid string, depth int) (sum uint64) {
	const deepest = 16
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%s/task/*/children", pid))
	for _, list := range lists {
		pids, err := os.ReadFile(list)
		if err != nil || depth == deepest {
			continue
		}
		for _, child := range strings.Fields(string(pids)) {
			sum += residentOf(child) + descendants(child, depth+1)
		}
	}
	return sum
}

// residentOf returns the resident set of a process as Linux's /proc has it, 0 if there is none.
func residentOf(pid string) uint64 {
	statm, err := os.ReadFile("/proc/" + pid + "/statm")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(statm), " ")
	pages, _, _ := strings.Cut(rest, " ")
	n, err := strconv.ParseUint(pages, 10, 64)
	if err != nil {
		return 0
	}
	return n * uint64(os.Getpagesize())
}
