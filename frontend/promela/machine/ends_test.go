package machine

import (
	"context"
	"fmt"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/ample"
	"cpor/engine/search/full"
)

// TestEnds: where each end of a channel belongs to one process, sends and receives wait for
// nobody; where something hangs on them, all that is wrong is found all the same.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		lossy      bool
		states     uint64 // that ample sets have at most
		violations int
	}{
		{"exclusive", `chan c = [2] of { byte };
			active proctype P() { c!1; c!2; c!3; c!4 }
			active proctype Q() { byte x; c?x; c?x; c?x; c?x; assert(x == 4) }`, false, 12, 0},
		{"parameters", `chan q[3] = [2] of { byte };
			proctype N(chan in, out) { byte x; out!1; in?x; out!x; in?x }
			init { atomic { run N(q[0], q[1]); run N(q[1], q[2]); run N(q[2], q[0]) } }`, false,
			30, 0},
		{"a process's own", `proctype P(chan c) { c!1; c!2 }
			init { chan c = [2] of { byte }; byte x; run P(c); c?x; c?x; assert(x == 2) }`, false,
			14, 0},
		{"two senders", `chan c = [2] of { byte }; byte x;
			active proctype P() { c!1 }
			active proctype R() { c!2 }
			active proctype Q() { c?x; assert(x == 1) }`, false, 0, 1},
		{"two receivers", `chan c = [2] of { byte };
			active proctype P() { c!1; c!2 }
			active proctype R() { byte x; c?x; assert(x == 1) }
			active proctype Q() { byte x; c?x; assert(x == 1) }`, false, 0, 2},
		{"length", `chan c = [2] of { byte };
			active proctype P() { c!1; c!2 }
			active proctype Q() { byte x; assert(len(c) < 2); c?x }`, false, 0, 1},
		{"a parameter's length", `chan c = [2] of { byte };
			proctype P(chan d) { d!1; d!2 }
			proctype Q(chan d) { byte x; if :: len(d) == 2 -> assert(false) :: d?x fi }
			init { atomic { run P(c); run Q(c) } }`, false, 0, 1},
		{"else", `chan c = [2] of { byte };
			active proctype P() { c!1 }
			active proctype Q() { byte x; if :: c?x :: else -> assert(false) fi }`, false, 0, 1},
		{"unless", `chan c = [2] of { byte }; byte y;
			active proctype P() { c!1 }
			active proctype Q() { byte x; { y = 1; y = 2; assert(false) } unless { c?x } }`, false,
			0, 1},
		{"inside of atomic", `chan c = [2] of { byte }; byte y;
			active proctype P() { c!1 }
			active proctype Q() { byte x; atomic { y = 1; c?x; y = 2 } }
			active proctype R() { assert(y != 1) }`, false, 0, 1},
		{"guard of d_step", `chan c = [2] of { byte }; byte y;
			active proctype P() { c!1 }
			active proctype Q() { byte x; if :: d_step { c?x; y = 1 } :: y == 0 -> assert(false) fi }`,
			false, 0, 1},
		{"deterministic", `chan c = [2] of { byte }; byte y;
			active proctype P() { c!1 }
			D_proctype Q() { byte x; if :: y == 0 :: c?x fi }
			init { run Q() }`, false, 0, 1},
		{"from anywhere", `chan c = [2] of { byte };
			active proctype P() { c!1; c!2 }
			active proctype Q() { byte x; if :: c??2 -> assert(false) :: c?x fi }`, false, 0, 1},
		{"lossy", `chan c = [1] of { byte };
			active proctype P() { c!1; c!2 }
			active proctype Q() { byte x; c?x; c?x; assert(false) }`, true, 0, 1},
		{"a channel that is sent", `chan c = [1] of { chan }; chan d = [2] of { byte };
			active proctype P() { c!d; d!1; d!2 }
			active proctype Q() { chan e; byte x; c?e; e?x; assert(x == 1) }
			active proctype R() { byte x; d?x; assert(x == 1) }`, false, 0, 2},
		{"one that dies", `chan c = [1] of { chan }; byte x;
			proctype P() { chan d = [1] of { byte }; c!d }
			init { chan e; run P(); c?e; e!1 }`, false, 0, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := parseText(c.text)
			if err != nil {
				t.Fatal(err)
			}
			for _, merged := range []bool{false, true} {
				s, err := New(p, Options{Lossy: c.lossy, Merged: merged})
				if err != nil {
					t.Fatal(err)
				}
				a, err := ample.Factory(s, func(err error) { t.Error(err) })
				if err != nil {
					t.Fatal(err)
				}
				explore := func(f search.Factory) (uint64, string, int) {
					res, err := search.Run(context.Background(), s, f, search.Options{
						Options: engine.Options{Workers: 1, All: true}})
					if err != nil || !res.Exhaustive {
						t.Fatal(err)
					}
					found, failed := map[string]bool{}, 0
					for _, v := range res.Violations {
						found[fmt.Sprint(v.Kind, v.Pos)] = true
						if v.Pos.Line > 0 {
							failed++
						}
					}
					return res.States, fmt.Sprint(found), failed
				}
				_, want, failed := explore(full.Factory(s))
				n, got, _ := explore(a)
				if got != want || failed != c.violations && c.violations >= 0 {
					t.Errorf("merged %t: %s, want %s with %d", merged, got, want, c.violations)
				}
				if c.states > 0 && n > c.states {
					t.Errorf("merged %t: %d states", merged, n)
				}
			}
		})
	}
}
