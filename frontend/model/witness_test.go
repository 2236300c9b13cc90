package model_test

import (
	"strings"
	"testing"

	"cpor/frontend/model"
)

// TestWitnesses holds traces to the instances of quantifiers that made a condition fail. Each
// condition is an invariant, an assertion whose reads are steps, and an assertion in one step.
func TestWitnesses(t *testing.T) {
	for _, c := range []struct {
		cond string // in a state with a = [0, 7, 7, 2]; s = {red: 1, blue: 2}
		want string
	}{
		{"forall i in 0..3 { a[i] != 7 }", "forall i fails at i = 1"},
		{"forall i in 0..3 { !(a[i] == 2) }", "forall i fails at i = 3"},
		{"exists i in 0..3 { a[i] == 5 }", "exists i holds for no i"},
		{"!exists i in 0..3 { a[i] == 2 }", "exists i holds at i = 3"},
		{"!forall i in 0..3 { a[i] >= 0 }", "forall i holds for every i"},
		{"!forall i in 0..3 { !(forall j in 0..3 { a[i] != a[j] + 9 }) || a[i] >= 0 }",
			"forall i holds for every i"},
		{"forall i in 0..3 { forall j in 0..3 { i == j || a[i] != a[j] } }",
			"forall i fails at i = 1, where forall j fails at j = 2"},
		{"forall i in 0..3 { exists j in 0..3 { a[j] > a[i] } }",
			"forall i fails at i = 1, where exists j holds for no j"},
		{"forall i in 0..3 { a[i] != 2 || exists j in 0..3 { a[j] > 8 } }",
			"forall i fails at i = 3, where exists j holds for no j"},
		{"exists i in 0..3 { forall j in 0..3 { a[i] < a[j] || i == 4 } }",
			"exists i holds for no i"},
		{"!exists i in 0..3 { a[i] == 7 && !exists j in 0..3 { a[j] > 7 } }",
			"exists i holds at i = 1, where exists j holds for no j"},
		// What is evaluated last decides, and may be no quantifier.
		{"(forall i in 0..3 { a[i] < 9 }) && a[0] == 1", ""},
		{"a[0] == 1 && forall i in 0..3 { a[i] < 9 }", ""},
		{"a[0] == 1 || forall i in 0..3 { a[i] < 7 }", "forall i fails at i = 1"},
		{"(forall i in 0..3 { a[i] < 7 }) || (exists k in 1..2 { a[k] == 0 })",
			"exists k holds for no k"},
		{"(forall i in 0..3 { a[i] < 9 }) && (forall i in 2..3 { a[i] < 7 })",
			"forall i fails at i = 2"},
		{"(exists i in 0..3 { a[i] == 0 }) == (exists i in 0..3 { a[i] == 9 })", ""},
		{"count i in 0..3 { forall j in 0..3 { a[j] <= a[i] } } == 1", ""},
		{"forall i in 0..3 { count j in 0..3 { a[j] == a[i] } == 1 }", "forall i fails at i = 1"},
		{"forall i in 0..3 { i < 2 }", "forall i fails at i = 2"},
		{"forall i in 0..3 { exists j in 1..0 { a[j] == i } }",
			"forall i fails at i = 0, where exists j holds for no j"},
	} {
		const state = "const N = 4\nvar a [4]int\nvar done bool\n"
		const set = "\tatomic {\n\t\ta[1] = 7\n\t\ta[2] = 7\n\t\ta[3] = 2\n\t\tdone = true\n\t}\n"
		const rest = "}\ninit {\n\tgo T()\n}\n"
		for _, form := range []string{
			"invariant small { !done || (" + c.cond + ") }\nthread T() {\n" + set + rest,
			"thread T() {\n" + set + "\tassert(" + c.cond + ")\n" + rest,
			"thread T() {\n" + set + "\tatomic {\n\t\tassert(" + c.cond + ")\n\t}\n" + rest,
			"func ok(x int) bool {\n\tassert(exists i in 0..3 { a[i] == x })\n\t" +
				"return x == 7\n}\n" +
				"thread T() {\n" + set + "\tatomic {\n\t\tassert(!ok(2) && (" + c.cond +
				"))\n\t}\n" + rest,
		} {
			m, err := model.Parse("w.model", state+form, model.Options{})
			if err != nil {
				t.Errorf("%s: %v", c.cond, err)
				continue
			}
			rec := record(t, m.System())
			got := strings.Join(rec.Events[len(rec.Events)-1].Deeds, ", ")
			if got != c.want {
				t.Errorf("%s: got %q, want %q, in\n%s", c.cond, got, c.want, form)
			}
		}
	}
}

// TestWitnessesOfThreads: instances over threads have their numbers, those over names their names.
func TestWitnessesOfThreads(t *testing.T) {
	const threads = `var n int
KIND thread T() {
	n++
	end: skip
}
invariant away { INVARIANT }
init {
	for range 3 {
		go T()
	}
}
`
	const names = `type Pid symmetric(3)
var want [Pid]bool
KIND thread T(me Pid) {
	want[me] = true
}
invariant away { INVARIANT }
init {
	for p := range Pid {
		go T(p)
	}
}
`
	for _, c := range []struct{ src, kind, invariant, want string }{
		{threads, "", "n < 3 || !T[0]@end || forall t in T { !T[t]@end || t == 0 }",
			"forall t fails at t = 1"},
		{threads, "symmetric", "forall t in T { !T[t]@end || n < 3 }",
			"forall t fails at t = 2"}, // one that fails, not the first
		{threads, "symmetric", "n < 3 || !forall t in T { true || T[t]@end }",
			"forall t holds for every t"},
		{names, "symmetric", "!forall p in Pid { want[p] }", "forall p holds for every p"},
		{names, "symmetric", "(!exists p in Pid { want[p] }) || exists p in Pid { !want[p] }",
			"exists p holds for no p"},
		{names, "", "(count p in Pid { want[p] } == 0) || forall p in Pid { !want[p] }",
			"forall p fails at p = Pid#"},
	} {
		src := strings.NewReplacer("KIND ", strings.TrimLeft(c.kind+" ", " "), "INVARIANT",
			c.invariant).Replace(c.src)
		m, err := model.Parse("w.model", src, model.Options{})
		if err != nil {
			t.Errorf("%v in\n%s", err, src)
			continue
		}
		rec := record(t, m.System())
		got := strings.Join(rec.Events[len(rec.Events)-1].Deeds, ", ")
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.invariant, got, c.want)
		}
	}
}
