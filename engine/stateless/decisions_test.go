package stateless

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/system"
)

// TestDecisions holds every reduction to all interleavings of very small models
// in which some threads decide, in one transition, by one variable after the
// other what they touch and whether they are blocked, while others write these.
func TestDecisions(t *testing.T) {
	check(t, programs(300), func(s uint64) (string, system.System, error) {
		text := decisions(s)
		sys, err := parse(text)
		return text, sys, err
	})
}

// decisions returns the text of such a model; equal seeds give equal models.
func decisions(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 3))
	vars := []string{"a", "b", "c", "d", "e"}[:3+r.IntN(3)]
	pick := func() string { return vars[r.IntN(len(vars))] }
	literal := func() string {
		if r.IntN(2) == 0 {
			return pick()
		}
		return "!" + pick()
	}
	var tree func(depth int) string
	tree = func(depth int) string {
		if depth > 0 && r.IntN(5) > 0 {
			return fmt.Sprintf("if %s { %s } else { %s }", literal(), tree(depth-1), tree(depth-1))
		}
		switch r.IntN(5) {
		case 0:
			return "await(false)"
		case 1:
			return pick() + " = true"
		case 2:
			return pick() + " = false"
		}
		return "v = 1"
	}
	alternative := func() string {
		switch r.IntN(3) {
		case 0:
			return fmt.Sprintf("await(%s)", literal())
		case 1:
			return fmt.Sprintf("await(%s && %s)", literal(), literal())
		}
		return tree(2)
	}
	choice := r.IntN(2) == 0
	decide := func() string {
		if choice {
			return fmt.Sprintf("\tvar v int8\n\tatomic { choose {\n\tcase: %s\n\tcase: %s\n\t} }",
				alternative(), alternative())
		}
		return fmt.Sprintf("\tvar v int8\n\tatomic { %s }", tree(2+r.IntN(2)))
	}
	value := func() string {
		if r.IntN(4) == 0 {
			return "false"
		}
		return "true"
	}
	write := func() string {
		if r.IntN(3) == 0 {
			return fmt.Sprintf("atomic { %s = %s; %s = %s }", pick(), value(), pick(), value())
		}
		return pick() + " = " + value()
	}
	threads := []string{decide()}
	n := 2 + r.IntN(3)
	for range n {
		switch {
		case n < 4 && r.IntN(3) == 0:
			threads = append(threads, "\t"+write()+"; "+write())
		case r.IntN(6) == 0:
			threads = append(threads, decide())
		default:
			threads = append(threads, "\t"+write())
		}
	}
	r.Shuffle(len(threads), func(i, j int) { threads[i], threads[j] = threads[j], threads[i] })
	var b strings.Builder
	fmt.Fprintf(&b, "comm var %s bool\n", strings.Join(vars, ", "))
	for i, body := range threads {
		fmt.Fprintf(&b, "thread T%d() {\n%s\n}\n", i, body)
	}
	b.WriteString("init {")
	for i := range threads {
		fmt.Fprintf(&b, " go T%d();", i)
	}
	b.WriteString(" }\n")
	return b.String()
}
