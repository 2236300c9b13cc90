package machine_test

import (
	"cmp"
	"flag"
	"fmt"
	"testing"

	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
	"cpor/testkit/sample"
	"cpor/testkit/systemtest"
)

var compiledModels = flag.Int("compiled", 0, "how many generated models the machine code is "+
	"compared on")

var compiledFirst = flag.Uint64("compiled-first", 0, "the first of them")

// corners have what generated models hardly come to.
var corners = []string{
	`var g int5 = -3
var h int40 = -5000000000
var a [3]int5
var p *int5 = &g
thread T() {
	for range 3 {
		if *p < 0 { h = int40(*p) * 2 }
		p = &a[1]
		*p = g - 1
		if 0 < h { g++ }
	}
}
init { go T() }
`,
	// What fails is left to the machine, which tells it with its place.
	`var a, b, c int4
var q [5]int8
var m mutex
thread T() { for a < 5 { a++ }; choose { case: q[a] = 1; case: q[b] = int8(7 / (a - c)); case: skip } }
thread U() { for b < 7 { b++ }; b = b + c; unlock(m) }
thread W() { for { c++; assert(c < 6 || b == 0, "late") } }
init {
	go T()
	go U()
	go W()
}
`,
	// What blocks has written, and takes it back.
	`var g int
var m mutex
thread T() { for range 3 { atomic { g = 1; lock(m) }; g = 2; unlock(m) } }
init {
	go T()
	go T()
}
`,
	// What alternatives that resume at a choice have in common, and change.
	`var a, b int8
var c chan(2) int8
thread T(i int8) {
	for range 3 {
		atomic {
			x := a + i
			for x > 5 { x = x - 3 }
			y := b
			select {
			case await(y < 3): x = x + 2; y++; b = y; a = x % 5
			case c <- x: x = x + y; a = x % 3
			case await(x < 6): x = x * 2; y = y + int8(choose(0, 1)); a = (x + y) % 7; await(a != 3)
			case y = <-c: b = (x + y) % 4
			case await(a > i): b = (x + y) % 3
			}
		}
		atomic {
			z := (a + b) % 3
			if z == i {
				k := choose(0, 2)
				z = z + int8(k)
				a = z
			} else {
				await(z > 0)
				choose { case: z = z + a; b = z % 3; case: a = z; case: z = z * 2; await(z > 2); a = z }
			}
		}
	}
}
init {
	go T(0)
	go T(1)
}
`,
	// A select with more cases than a word has bits.
	`var a [70]bool
var n int8
thread T() {
	for range 2 {
		atomic {
			select {
			case exists k in 0..69 { await(!a[k] && k%9 != 1) }: a[k] = true; n = int8(k % 5)
			}
		}
	}
}
init { go T() }
`,
}

// compiledModel returns a corner or the generated model with a number: with every construct, with
// every type, or of one of the shapes that the oracles are fed with.
func compiledModel(seed uint64) string {
	if seed < uint64(len(corners)) {
		return corners[seed]
	}
	switch seed % 5 {
	case 1:
		return oracle.Program(seed, oracle.SizesNamed["tiny"][seed/5%6])
	case 2:
		return oracle.Program(seed, oracle.Sizes[seed/5%uint64(len(oracle.Sizes))])
	case 3:
		return oracle.GenerateCounts(seed)
	case 4:
		return typed(seed)
	}
	return oracle.Generate(seed, oracle.Everything)
}

// compareCode compares the machine code of a model with the machine. ok is false if the text is no
// model.
func compareCode(text string, accesses bool) (c systemtest.Compared, ok bool, err error) {
	if _, err := model.Parse("generated.model", text, model.Options{}); err != nil {
		return c, false, nil
	}
	c, err = systemtest.Expand(func() system.System {
		m, _ := model.Parse("generated.model", text, model.Options{})
		return m.System()
	}, 200, accesses)
	return c, true, err
}

// TestCompiled compares machine code and machine on generated models.
func TestCompiled(t *testing.T) {
	n := cmp.Or(*compiledModels, sample.Of(25, 25, 1500))
	models, all := 0, systemtest.Compared{}
	for i := range uint64(n) {
		seed := *compiledFirst + i
		for _, accesses := range []bool{false, true} {
			c, ok, err := compareCode(compiledModel(seed), accesses)
			if err != nil {
				t.Fatalf("seed %d, accesses %v: %v\n%s", seed, accesses, err, compiledModel(seed))
			}
			if !ok && seed < uint64(len(corners)) {
				t.Fatalf("corner %d is no model", seed)
			}
			if ok && c.States > 0 && accesses {
				models++
			}
			all.States += c.States
			all.Outcomes += c.Outcomes
			all.Left += c.Left
			all.Behind += c.Behind
		}
	}
	t.Logf("%d models, %d states, %d outcomes, %d of them behind others, "+
		"%d threads left to the machine", models, all.States, all.Outcomes, all.Behind, all.Left)
	if models < n/3 || all.Left > all.Outcomes/3 {
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
	n, all := cmp.Or(*compiledModels, sample.Of(10, 15, 1500)), 0
	for i := range 1 + uint64(n) {
		text := moving
		if i > 0 {
			text = compiledModel(*compiledFirst + i - 1)
		}
		if _, err := model.Parse("generated.model", text, model.Options{}); err != nil {
			continue
		}
		states, err := compare(func() system.System {
			m, _ := model.Parse("generated.model", text, model.Options{})
			return m.System()
		}, 200)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		all += states
	}
	t.Logf("%d states", all)
	if all < 20*n {
		t.Errorf("only %d states are compared", all)
	}
}

// moving is a model in which a thread looks at a slot that another one may have written since the
// messages in the buffer moved up.
const moving = `var c = make(chan int8, 2)
var g bool
thread A() {
	var x int8
	x = <-c
	atomic { select { case x = <-c: assert(g); default: skip } }
}
thread B() { c <- 1; g = true }
init { c <- 0; go A(); go B() }
`

// TestCrowded runs so many threads on that there is no room for all. Those without room are left to
// the machine, and are not run on from there.
func TestCrowded(t *testing.T) {
	reads := "a[0]"
	for i := range 40 {
		reads += fmt.Sprintf(" + a[%d]", i)
	}
	m, err := model.Parse("crowded.model", `const N = 40
var a [N]int8
thread T() { for { atomic { var x int8 = `+reads+`; skip } } }
init { for range N { go T() } }
`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sys := m.System()
	c := machineCode(t, sys.NewMachine())
	for i := range c.Ahead {
		c.Ahead[i] = 400
	}
	c.Expand(sys.Initial()[0])
	var next system.Successor
	left := map[int]int{}
	behind := 0
	for c.Next(&next) {
		if left[next.Thread] > 0 {
			t.Fatalf("thread %d has steps behind one that is left to the machine", next.Thread)
		}
		if next.Left {
			left[next.Thread]++
		}
		if next.Behind {
			behind++
		}
	}
	if len(left) == 0 || behind < 1000 {
		t.Errorf("%d threads are left to the machine, and %d steps are run ahead", len(left), behind)
	}
}
