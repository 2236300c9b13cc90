package detect

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"cpor/detect/computation"
	"cpor/detect/predicate"
	"cpor/detect/simulate"
)

// brute is the oracle: it enumerates all consistent cuts of the computation
// itself and evaluates the expanded predicate, before any normal form, in each.
type brute struct {
	cuts      int
	satisfied int
	poss, def bool
}

func bruteForce(c *computation.Computation, n *predicate.Node) brute {
	var b brute
	type mark struct{ avoidable bool }
	seen := map[string]*mark{}
	key := func(cut computation.Cut) string { return fmt.Sprint(cut) }
	// visit explores all cuts; avoidable says whether the cut was reached by an
	// observation that does not satisfy the predicate.
	level := []computation.Cut{c.Initial()}
	seen[key(level[0])] = &mark{avoidable: true}
	b.def = true
	final := key(c.Final())
	for len(level) > 0 {
		var next []computation.Cut
		for _, cut := range level {
			b.cuts++
			m := seen[key(cut)]
			if Holds(c, n, cut) {
				b.satisfied++
				b.poss = true
				m.avoidable = false
			}
			if m.avoidable && key(cut) == final {
				b.def = false
			}
			for i := range cut {
				if cut[i] == c.Events(i) {
					continue
				}
				succ := cut.Clone()
				succ[i]++
				if !c.Consistent(succ) {
					continue
				}
				k := key(succ)
				if seen[k] == nil {
					seen[k] = &mark{}
					next = append(next, succ)
				}
				seen[k].avoidable = seen[k].avoidable || m.avoidable
			}
		}
		level = next
	}
	return b
}

// randomPredicate returns the text of a random predicate over the variables of
// simulate.Random.
func randomPredicate(rng *rand.Rand, n, depth int, hosts []string) string {
	host := func() string {
		if len(hosts) > 0 && rng.IntN(3) > 0 {
			return hosts[rng.IntN(len(hosts))]
		}
		return fmt.Sprint("p", rng.IntN(n)+1)
	}
	number := func() string {
		switch rng.IntN(4) {
		case 0:
			return fmt.Sprint(rng.IntN(3))
		case 1:
			return host() + ".y + " + host() + ".z"
		}
		return host() + "." + []string{"y", "z"}[rng.IntN(2)]
	}
	if depth == 0 || rng.IntN(6) == 0 {
		switch rng.IntN(11) {
		case 9: // linear in several hosts
			op := []string{"==", "<", "<=", ">", ">="}[rng.IntN(5)]
			return fmt.Sprintf("%s.y + 2 * %s.z - %s.y %s %d", host(), host(), host(), op,
				rng.IntN(7)-2)
		case 10:
			op := []string{"==", "!=", "<", "<=", ">", ">="}[rng.IntN(6)]
			return fmt.Sprintf("sum(k: k.y) %s %d", op, rng.IntN(2*n+1))
		case 0, 1, 2:
			return host() + ".x"
		case 3, 4, 5:
			op := []string{"==", "!=", "<", "<=", ">", ">="}[rng.IntN(6)]
			return number() + " " + op + " " + number()
		case 6:
			return host() + ".y in {0, 2}"
		case 7:
			return "defined(" + host() + ".y)"
		default:
			op := []string{"==", "!=", "<=", ">="}[rng.IntN(4)]
			return fmt.Sprintf("count(k: k.x) %s %d", op, rng.IntN(n+1))
		}
	}
	sub := func() string { return "(" + randomPredicate(rng, n, depth-1, hosts) + ")" }
	switch rng.IntN(10) {
	case 0, 1, 2:
		return sub() + " && " + sub()
	case 3, 4:
		return sub() + " || " + sub()
	case 5:
		return "!" + sub()
	case 6:
		return sub() + " => " + sub()
	case 7:
		return sub() + " <=> " + sub()
	}
	q := []string{"forall", "exists"}[rng.IntN(2)]
	v := string(rune('i' + len(hosts)%6))
	w := v + "2"
	head, bound := v, []string{v}
	if rng.IntN(2) == 0 {
		head, bound = v+[]string{" != ", " < ", ", "}[rng.IntN(3)]+w, []string{v, w}
	}
	return fmt.Sprintf("%s %s: %s", q, head, randomPredicate(rng, n, depth-1,
		append(append([]string(nil), hosts...), bound...)))
}

// localPredicate returns a random conjunction of 1-local predicates.
func localPredicate(rng *rand.Rand, n int) string {
	var parts []string
	for i := range n {
		if rng.IntN(4) > 0 {
			parts = append(parts, fmt.Sprintf([]string{"p%[1]d.x", "!p%[1]d.x", "p%[1]d.y != 0",
				"(p%[1]d.y == p%[1]d.z || p%[1]d.x)"}[rng.IntN(4)], i+1))
		}
	}
	if parts == nil {
		return "p1.x"
	}
	return strings.Join(parts, " && ")
}

func randomComputation(rng *rand.Rand) *computation.Computation {
	n := rng.IntN(5) + 1
	return simulate.Random(rng, simulate.RandomConfig{
		Processes: n,
		Events:    rng.IntN(5*n + 1),
		Messages:  []float64{0, 0.3, 0.7, 1}[rng.IntN(4)],
		Variables: 3,
		Values:    rng.IntN(2) + 2,
		Assign:    []float64{0.2, 0.6}[rng.IntN(2)],
		Undefined: rng.IntN(3) == 0,
	})
}
