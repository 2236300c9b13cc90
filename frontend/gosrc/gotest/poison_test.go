package gotest

import (
	"errors"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

// Initializers that cannot be explored: a test is refused if it touches what they would have set.
const variableRefused = `package m

import (
	"sync"
	"syscall"
	"testing"
)

var before = []int{1}
var names = map[string]int{"a": 1}
var mu sync.Mutex
var size = stat()
var after = before[0] + 1
var none int
var constant = []byte("abc")

func stat() int {
	mu.Lock()
	defer mu.Unlock()
	var s syscall.Statfs_t
	if err := syscall.Statfs("/", &s); err != nil {
		names["error"] = 1
	}
	return len(before)
}

func init() { late = 1 }

var late int

func TestBefore(t *testing.T) {
	if before[0] != 1 || none != 0 {
		t.Error(before, none)
	}
}
func TestSize(t *testing.T)  { t.Log(size) }
func TestAfter(t *testing.T) { t.Log(after) }
func TestNames(t *testing.T) { t.Log(names["a"]) }
func TestMutex(t *testing.T) { mu.Lock() }
func TestLate(t *testing.T)  { t.Log(late) }
func TestWrite(t *testing.T) { late = 2 }
func TestConstant(t *testing.T) { t.Log(constant) }
`

const functionRefused = `package m

import (
	"flag"
	"syscall"
	"testing"
)

type set struct{ m map[string]int }

func (s *set) add(name string) { s.m[name] = len(key) }
func (s *set) has(name string) bool { _, ok := s.m[name]; return ok }

type adder interface{ add(string) }

var all = &set{map[string]int{}}
var others = &set{map[string]int{}}
var key = []byte("key")
var hook = func() { hooked = true }
var hooked, quiet bool
var last, first int
var also = others

func use(b []byte) int { return len(b) }

func init() { first = 1 }

func init() {
	fs := "/"
	var s syscall.Statfs_t
	if syscall.Statfs(fs, &s) == nil {
		all.add("stat")
	}
	adder(others).add("x")
	hook()
	use(key)
	flag.Bool("stat", false, "")
}

func init() { last = 2 }

func TestFirst(t *testing.T) {
	if first != 1 || last != 2 || quiet || use(key) != 3 {
		t.Error(first, last, quiet)
	}
}
func TestAll(t *testing.T)    { t.Log(all.has("stat")) }
func TestOthers(t *testing.T) { t.Log(also.has("x")) }
func TestHooked(t *testing.T) { t.Log(hooked) }
func TestFlag(t *testing.T)   { t.Log(flag.Lookup("stat")) }
`

func TestPoison(t *testing.T) {
	for text, tests := range map[string]map[string]string{
		variableRefused: {"TestBefore": "", "TestSize": "m.size", "TestAfter": "m.after",
			"TestNames": "m.names", "TestMutex": "m.mu", "TestLate": "m.late",
			"TestWrite": "m.late", "TestConstant": "m.constant"},
		functionRefused: {"TestFirst": "", "TestAll": "m.all", "TestOthers": "m.others",
			"TestHooked": "m.hooked", "TestFlag": "flag."},
	} {
		c := load(t, text)
		for name, variable := range tests {
			p, err := c.Test(name, gosrc.Explore{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			res, err := Run(t.Context(), p, Options{})
			switch no := new(gosrc.Unsupported); {
			case variable == "":
				if err != nil || res.Verdict != engine.Pass {
					t.Errorf("%s: %+v, %v", name, res, err)
				}
			case !errors.As(err, &no):
				t.Errorf("%s: %+v, %v", name, res, err)
			case !strings.HasPrefix(no.What, "uses "+variable) || !strings.Contains(no.What,
				"the initializer of package m calls syscall.Statfs"):
				t.Errorf("%s: %s", name, no.What)
			case len(no.Path) == 0 || no.Path[len(no.Path)-1].Func != "m."+name:
				t.Errorf("%s: %+v", name, no.Path)
			}
		}
	}
}
