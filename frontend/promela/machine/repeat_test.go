package machine

import (
	"testing"

	"cpor/testkit/sample"

	"cpor/system"
	"cpor/testkit/systemtest"
)

// moving are models whose steps write what they have not looked at, and move what they do not
// look at either: what is remembered of such a step has to be right in states that differ in it.
var moving = map[string]string{
	"queues": `chan q = [4] of { byte, short, byte }; chan r = [2] of { byte }; byte sum;
		active [2] proctype Send() { byte i; do :: i < 2 -> q!i,i*300+_pid,_pid; i++ :: i < 1 && len(q) > 2 -> i = i + 2 :: else -> break od }
		active proctype Take() { byte a, c; short b; end: do :: q?a,b,c -> r!a; b = 0 :: r?a -> sum = (sum + a) % 5; a = 0; c = 0 od }
		active proctype Lose() { end: do :: q?_,_,_ od }`,
	"twice in a step": `chan q = [6] of { byte }; byte x, y;
		active proctype Send() { byte i; do :: i < 6 -> q!(i*5)%8; i++ :: break od }
		active proctype Take() { end: do
			:: atomic { len(q) > 2 -> q?x; q?y; q!x; if :: x > y -> q!y :: else fi; x = 0; y = 0 }
			:: d_step { len(q) > 3 -> q?_; q?_; q!9; q?x; y = x }
			:: atomic { q?y -> y = 0 } od }`,
	"in order": `chan q = [4] of { byte, byte }; byte x;
		active [2] proctype Send() { byte i; do :: i < 2 -> q!!3-i,_pid; i++ :: i < 2 -> q!i,5; i++ :: break od }
		active proctype Take() { byte k; end: do :: q??2,k -> k = 0 :: q??k,5 -> k = 0 :: q?x,_ :: q?<k,_> -> k = 0 :: q?[2,1] -> x = 7 od }`,
	"channels of processes": `chan to[2] = [2] of { chan, byte };
		active [2] proctype P() { chan mine = [3] of { byte, int }; chan c; byte v; int w; end: do
			:: nfull(to[1-_pid]) && v < 3 -> to[1-_pid]!mine,v; v++
			:: atomic { to[_pid]?c,w -> if :: nfull(c) -> c!w,w*70000 :: else fi; w = 0 }
			:: mine?_,w -> w = 0
			od }`,
	"arrays": `bit a[40]; byte seen;
		active [2] proctype P() { byte i = 20*_pid, j; do
			:: i % 20 < 5 -> i++ ; a[i] = 1
			:: i % 20 < 5 -> i++
			:: i > 20 && a[i] == 0 && a[i-20] == 1 -> d_step { j = a[i-20]; a[i-20] = a[i]; a[i] = j; j = 0 }
			:: i % 20 == 5 && a[i] == 1 -> seen = i; break
			:: i % 20 == 5 -> break
			od }`,
	"meetings": `chan c = [0] of { byte, byte }; byte got;
		active [2] proctype S() { byte i; do :: i < 3 -> c!i,_pid; i++ :: i < 3 -> i++ od unless { got == 5 } }
		active [2] proctype R() { byte x, y, z; end: do :: c?x,y -> z = x + y; x = 0 :: atomic { c?1,y -> got = y; y = 0 } :: z > 1 -> z = 0 od }`,
	"many ways": `byte n, m; chan q = [2] of { bit, byte };
		active [2] proctype P() { byte i; do
			:: select(i : 0 .. 3); if :: i < 3 && nfull(q) -> q!i%2,i :: else -> m = i fi; i = 0
			:: q?0,i -> n = (n + i) % 3; i = 0
			:: q?1,_ -> skip
			od }`,
	"seen from elsewhere": `byte g;
		active proctype A() { byte x; do :: x < 3 -> x++ :: x == 3 -> L: x = 0 od }
		active proctype B() { chan q = [2] of { byte }; do :: A[0]:x > 1 && nfull(q) -> q!A[0]:x :: A[0]@L && nempty(q) -> q?g :: q?_ od }
		active proctype C() provided (g < 3) { byte k; do :: k < 2 -> k++ :: g > 1 -> g = 0; k = 0 od }`,
}

// TestMoving holds what the machine tells of such steps, and the search that remembers them, to
// what executing them comes to.
func TestMoving(t *testing.T) {
	for name, text := range moving {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := []Options{{}, {Lossy: true}, {Merged: true}}
			if testing.Short() {
				options = options[:1]
			}
			for _, o := range options {
				newSystem := func() system.System {
					p, err := parseText(text)
					if err != nil {
						t.Fatal(err)
					}
					s, err := New(p, o)
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				n := sample.Of[uint64](200, 250, 1000)
				systemtest.Conform(t, newSystem(), systemtest.Options{MaxStates: n, Walks: 5,
					Steps: 50})
				states := systemtest.Remember(t, newSystem, 100_000)
				t.Logf("%d states", states)
				if states < 500 && !t.Failed() {
					t.Errorf("%+v: %d states were compared", o, states)
				}
			}
		})
	}
}
