package machine

import (
	"flag"
	"fmt"
	"testing"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/system"
	"cpor/testkit/sample"
	"cpor/testkit/systemtest"
)

var compiledModels = flag.Int("compiled", 40, "how many generated models the machine code is "+
	"compared on")

// corners have what generated models hardly come to: signs, the ends of arrays and of types,
// division by 0, and initial values of processes that are created.
var corners = []string{
	`short s = -3; int i = -70000; byte b; short arr[3] = -2; bool less;
active proctype P() {
	do
	:: s < 0 -> s = s + 1; less = arr[1] < 0
	:: i < 0 -> i = i + 35000; arr[b % 3] = arr[b % 3] - 1
	:: b < 4 -> b++; s = s - b
	:: arr[2] > -1 -> break
	:: s < -6 -> break
	od
}`,
	`byte k; byte arr[3]; int sum;
active proctype P() {
	do
	:: k < 5 -> k++
	:: arr[k] = k + 1
	:: arr[2] == 3 -> sum = arr[k] + 1; break
	:: d_step { k == 4 -> k = 0; sum = 0 }
	od
}
active proctype Q() { do :: arr[k] == 2 -> sum = k :: else -> skip od }`,
	`byte k = 2; int q = 7; short m = -1;
active proctype P() {
	do
	:: k > 0 -> k--
	:: q = 12 / k
	:: q = q % k
	:: m < 1 -> m++; q = -2147483648 / m
	od
}`,
	`byte n; short total;
proctype C(short a) { short b = -5; byte c[3] = 4; total = a + b + c[2]; n-- }
init {
	do
	:: atomic { n < 2 -> n++; run C(n - 4) }
	:: total < -3 -> break
	od
}`,
	`byte turn; byte n; chan c = [0] of { byte };
active proctype P() provided (turn != 1) {
	byte k;
	do
	:: atomic { k < 2 -> k++; turn = 1; n++ }
	:: c?turn
	:: n > 3 -> break
	od
}
active proctype Q() provided (n < 7 / (4 - turn)) {
	do
	:: turn == 1 -> turn = 2 - turn; n++
	:: c!n % 3
	:: timeout -> n--
	od
}`,
	`byte a, b; chan c = [1] of { byte };
D_proctype P(byte k) {
	do
	:: a < 3 -> a++
	:: a == 3 && b < 2 -> c!k; b++; a = 0
	:: b == 2 -> break
	:: a + b == 4 -> skip
	od
}
active D_proctype Q() { do :: c?a -> skip :: else -> b = b % 2 od }
init { run P(1) }`,
	`unsigned x : 3 = 2; unsigned y : 2; bit z;
active proctype P() {
	do
	:: 0 < x -> x--
	:: 0 >= x -> y++; if :: 0 <= y -> z = 0 > y :: else -> z = 1 fi
	:: z -> break
	od
}`,
	`byte k; byte n;
active proctype P() {
	byte a;
	do
	:: a < 3 -> a++
	:: a == 2 -> break
	od;
L:	n++
}
active proctype Q() {
	do
	:: P[k]@L -> k++
	:: P[k]:a == 2 -> n = P[0]:a
	:: n > 2 -> break
	od
}`,
}

// systemOf returns the system of a corner or, with higher numbers from 1 on, of a generated model;
// nil if that is not a model.
func systemOf(seed uint64) *System {
	text := ""
	if n := uint64(len(corners)); seed <= n {
		text = corners[seed-1]
	} else if seed -= n; seed%2 == 0 {
		text = whole(seed)
	} else {
		text = generate(seed)
	}
	m, err := syntax.Parse(source.New(fmt.Sprintf("seed-%d.pml", seed), text), nil)
	if err != nil {
		return nil
	}
	p, err := program.Resolve(m)
	if err != nil {
		return nil
	}
	sys, err := New(p, Options{Merged: seed%3 == 0, Lossy: seed%5 == 0})
	if err != nil {
		return nil
	}
	return sys
}

// compareCode compares the machine code of a model with the machine.
func compareCode(seed uint64, accesses bool) (systemtest.Compared, error) {
	return systemtest.Expand(func() system.System { return systemOf(seed) }, 300, accesses)
}

// TestCompiled compares machine code and machine on generated models.
func TestCompiled(t *testing.T) {
	n := *compiledModels
	if testing.Short() {
		n = min(n, 40)
	}
	models, all := 0, systemtest.Compared{}
	for i := range uint64(n) {
		seed := *spinFirst + i
		if systemOf(seed) == nil {
			continue
		}
		for _, accesses := range []bool{false, true} {
			c, err := compareCode(seed, accesses)
			if err != nil {
				t.Fatalf("seed=%d, accesses %v: %v", seed, accesses, err)
			}
			if c.Outcomes > 0 && accesses {
				models++
			}
			all.Outcomes += c.Outcomes
			all.Left += c.Left
			all.Behind += c.Behind
		}
	}
	t.Logf("%d models, %d outcomes, %d of them behind others, %d threads left to the machine",
		models, all.Outcomes, all.Behind, all.Left)
	if models < n/4 || all.Left > all.Outcomes/2 {
		t.Errorf("the code has executed too little: %d models of %d, %d of %d threads left", models,
			n, all.Left, all.Outcomes)
	}
}

// TestCompiledVectors compares the Cartesian vectors of generated models by machine code with those
// by the machine.
func TestCompiledVectors(t *testing.T) { compareExpansions(t, systemtest.Vectors) }

// TestCompiledAmple does the same with ample sets.
func TestCompiledAmple(t *testing.T) { compareExpansions(t, systemtest.AmpleSets) }

func compareExpansions(t *testing.T,
	compare func(newSystem func() system.System, limit int) (int, error)) {
	n := sample.Of(15, 15, *compiledModels)
	states := 0
	for i := range uint64(n) {
		seed := *spinFirst + i
		if systemOf(seed) == nil {
			continue
		}
		more, err := compare(func() system.System { return systemOf(seed) }, 100)
		if err != nil {
			t.Fatalf("seed=%d: %v", seed, err)
		}
		states += more
	}
	t.Logf("%d states", states)
	if states < 10*n {
		t.Errorf("only %d states are compared", states)
	}
}
