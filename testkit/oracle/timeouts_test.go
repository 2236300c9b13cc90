package oracle_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Statements of programs that often ask for timeout(), which those over the whole grammar rarely
// do.
var (
	asking = []string{
		"await(timeout())", "await(timeout() || x)", "await(!timeout())", "await(!timeout() && x)",
		"await(y != timeout())", "atomic { await(timeout()); x = !x }",
		"atomic { n++; await(timeout() || x); y = !y }", "lock(m); await(timeout()); unlock(m)",
		"select {\ncase <-c:\ncase await(timeout()): y = !y\n}",
		"select {\ncase r <- true:\ncase await(timeout() || y): x = true\n}",
		"select {\ncase <-r:\ncase await(timeout()): n++\n}",
		"select {\ncase await(x):\ncase await(timeout() && y):\n}",
		"choose {\ncase: await(timeout()); y = true\ncase: await(x)\n}",
	}
	others = []string{
		"x = true", "y = x", "x = !x", "n++", "await(x)", "await(x && !y)", "c <- x", "y = <-c",
		"r <- true", "x = <-r", "lock(m); unlock(m)", "lock(m)", "down(s)", "up(s)", "skip",
		"atomic { await(n > 0); n-- }", "select {\ncase c <- x:\ncase <-r:\n}", "assert(!x || !y)",
		"assert(n < 2)", "_ = x",
	}
)

// timeouts returns the program of a seed.
func timeouts(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	body := func(n int, list ...string) {
		for range n {
			if r.IntN(4) == 0 {
				list = asking
			}
			b.WriteString(list[r.IntN(len(list))] + "\n")
			list = others
		}
	}
	fmt.Fprintf(&b, "var c chan(%d) bool\nvar r chan bool\nvar x, y bool\nvar n uint2\nmutex m\n"+
		"semaphore s = %d\nthread W() {\n", 1+r.IntN(2), r.IntN(2))
	body(1+r.IntN(2), others...)
	b.WriteString("}\n")
	begin := []string{"c <- true", "skip"}[r.IntN(2)]
	for t := range 2 + r.IntN(2) {
		fmt.Fprintf(&b, "thread T%d() {\nfor range %d {\n", t, 1+r.IntN(2))
		body(1, others...)
		b.WriteString("}\n")
		body(r.IntN(3), append(others, "go W()")...)
		b.WriteString("}\n")
		begin += fmt.Sprintf("; go T%d()", t)
	}
	return b.String() + "init { " + begin + " }\n"
}

// TestTimeouts holds the engines, a few for each program, to brute force on programs that ask for
// timeout().
func TestTimeouts(t *testing.T) {
	c := &tally{}
	campaign(t, models(15, 15, 1000), c, func(seed uint64) (string, string) {
		text := timeouts(seed)
		return hold(turn(engines, seed), text, c)
	})
}
