package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/detect/predicate"
)

// The tests of types have an evaluator of their own, which shares nothing with
// package predicate: values are Go's, a tree is evaluated by recursion, and a
// value of the wrong type is an error wherever it stands.

// term is a generated predicate or a part of it.
type term struct {
	op   string
	kids []*term
	name string // of a variable, with its host
	lit  any    // bool, int, string, []any
}

func (x *term) String() string {
	switch x.op {
	case "var":
		return x.name
	case "lit":
		return literal(x.lit)
	case "!", "-":
		return x.op + "(" + x.kids[0].String() + ")"
	case "len", "string":
		return x.op + "(" + x.kids[0].String() + ")"
	}
	return "(" + x.kids[0].String() + ") " + x.op + " (" + x.kids[1].String() + ")"
}

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = literal(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}

var mixedValues = []any{
	true, false, 0, 1, 2, "a", "1", []any{1, 2}, []any{"a"}, []any{}, []any{true, 1},
}

func drawTerm(rng *rand.Rand, depth int) *term {
	if depth == 0 || rng.IntN(8) == 0 {
		if rng.IntN(3) == 0 {
			return &term{op: "lit", lit: mixedValues[rng.IntN(len(mixedValues))]}
		}
		host, name := []string{"p1", "p2"}[rng.IntN(2)], "bnslm"[rng.IntN(5)]
		return &term{op: "var", name: host + "." + string(name)}
	}
	ops := []string{"&&", "||", "=>", "<=>", "==", "!=", "==", "<", ">=", "in", "not in",
		"+", "*", "!", "-", "len", "string"}
	op := ops[rng.IntN(len(ops))]
	x := &term{op: op, kids: []*term{drawTerm(rng, depth-1)}}
	if !slices.Contains([]string{"!", "-", "len", "string"}, op) {
		x.kids = append(x.kids, drawTerm(rng, depth-1))
	}
	return x
}

var errType = errors.New("a value of the wrong type")

func kindOf(v any) string {
	switch v.(type) {
	case bool:
		return "bool"
	case int:
		return "int"
	case string:
		return "string"
	}
	return "list"
}

// share reports whether two lists have elements of a common type, or one has none.
func share(a, b []any) bool {
	for _, x := range a {
		for _, y := range b {
			if kindOf(x) == kindOf(y) {
				return true
			}
		}
	}
	return len(a) == 0 || len(b) == 0
}

// value evaluates the term; get returns the value of the next occurrence of a
// variable, from left to right.
func (x *term) value(get func(name string) any) (any, error) {
	switch x.op {
	case "lit":
		return x.lit, nil
	case "var":
		return get(x.name), nil
	}
	var v []any
	for _, k := range x.kids {
		y, err := k.value(get)
		if err != nil {
			return nil, err
		}
		v = append(v, y)
	}
	kind := kindOf(v[0])
	both := len(v) == 1 || kindOf(v[1]) == kind
	switch x.op {
	case "string":
		if kind == "string" {
			return v[0], nil
		}
		return literal(v[0]), nil
	case "!":
		if kind == "bool" {
			return !v[0].(bool), nil
		}
	case "&&", "||", "=>", "<=>":
		if both && kind == "bool" {
			a, b := v[0].(bool), v[1].(bool)
			return map[string]bool{"&&": a && b, "||": a || b, "=>": !a || b, "<=>": a == b}[x.op],
				nil
		}
	case "==", "!=":
		if both && (kind != "list" || share(v[0].([]any), v[1].([]any))) {
			return (literal(v[0]) == literal(v[1])) == (x.op == "=="), nil
		}
	case "<", ">=":
		if both && kind == "int" {
			return (v[0].(int) < v[1].(int)) == (x.op == "<"), nil
		}
		if both && kind == "string" {
			return (v[0].(string) < v[1].(string)) == (x.op == "<"), nil
		}
	case "in", "not in":
		if l, ok := v[1].([]any); ok && (share([]any{v[0]}, l)) {
			found := slices.ContainsFunc(l, func(e any) bool { return literal(e) == literal(v[0]) })
			return found == (x.op == "in"), nil
		}
	case "+":
		switch {
		case both && kind == "int":
			return v[0].(int) + v[1].(int), nil
		case both && kind == "string":
			return v[0].(string) + v[1].(string), nil
		case both && kind == "list":
			return slices.Concat(v[0].([]any), v[1].([]any)), nil
		}
	case "*":
		if both && kind == "int" {
			return v[0].(int) * v[1].(int), nil
		}
	case "-":
		if kind == "int" {
			return -v[0].(int), nil
		}
	case "len":
		if kind == "string" {
			return len(v[0].(string)), nil
		}
		if kind == "list" {
			return len(v[0].([]any)), nil
		}
	}
	return nil, errType
}

// history is what a variable is, by local state of its host.
type history map[string][]any

// illTyped reports whether some values that the occurrences of the variables
// have somewhere are of the wrong type; ok is unset if there are too many to try.
func (x *term) illTyped(h history) (bad, ok bool) {
	names := x.variables(nil)
	ways := 1
	for _, name := range names {
		if ways *= len(h[name]); ways > 20_000 {
			return false, false
		}
	}
	for w := range ways {
		rest := w
		v, err := x.value(func(name string) any {
			all := h[name]
			v := all[rest%len(all)]
			rest /= len(all)
			return v
		})
		if err != nil {
			return true, true
		}
		if _, isBool := v.(bool); !isBool {
			return true, true
		}
	}
	return false, true
}

func (x *term) variables(to []string) []string {
	if x.op == "var" {
		to = append(to, x.name)
	}
	for _, k := range x.kids {
		to = k.variables(to)
	}
	return to
}

// drawLog draws a run of two hosts that never hear of each other, in JSON lines:
// all their local states are concurrent.
func drawLog(rng *rand.Rand) (text string, h history, events []*Event) {
	h = history{}
	var lines []string
	draw := func(name string, k int) any {
		kinds := map[string][]any{"b": {true, false}, "n": {0, 1, 2}, "s": {"a", "1"},
			"l": {[]any{1, 2}, []any{"a"}, []any{}}}
		values := kinds[name]
		if values == nil || k > 0 && rng.IntN(20) == 0 {
			values = mixedValues
		}
		return values[rng.IntN(len(values))]
	}
	init := map[string]map[string]any{}
	names := []string{"b", "n", "s", "l", "m"}
	for _, p := range []string{"p1", "p2"} {
		init[p] = map[string]any{}
		for _, name := range names {
			v := draw(name, 0)
			init[p][name] = v
			h[p+"."+name] = []any{v}
		}
	}
	object := func(vars map[string]any) string {
		var parts []string
		for name, v := range vars {
			parts = append(parts, fmt.Sprintf("%q:%s", name, literal(v)))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	lines = append(lines, fmt.Sprintf(`{"hosts":["p1","p2"],"init":{"p1":%s,"p2":%s}}`,
		object(init["p1"]), object(init["p2"])))
	for _, p := range []string{"p1", "p2"} {
		for k := range rng.IntN(4) {
			vars := map[string]any{}
			for _, name := range names {
				all := h[p+"."+name]
				v := all[len(all)-1]
				if rng.IntN(3) == 0 {
					v = draw(name, k+1)
					vars[name] = v
				}
				h[p+"."+name] = append(all, v)
			}
			e := &Event{Host: p, Clock: map[string]int32{p: int32(k + 1)},
				Vars: map[string]computation.Value{}}
			for name, v := range vars {
				x, err := computation.ParseJSON([]byte(literal(v)))
				if err != nil {
					panic(err)
				}
				e.Vars[name] = x
			}
			events = append(events, e)
			lines = append(lines, fmt.Sprintf(`{"host":%q,"clock":{%q:%d},"vars":%s}`, p, p, k+1,
				object(vars)))
		}
	}
	return strings.Join(lines, "\n") + "\n", h, events
}

// evidence finds what an error says about a variable and its place.
var evidence = regexp.MustCompile(`(p[12]\.[a-z]) is ("[^"]*"|\[[^\]]*\]|\w+) at log:(\d+)`)

// TestTypesGenerated: of predicates over variables of mixed types, those are
// refused, off line and on line, that the evaluator above finds a value of the
// wrong type for, and the others have its answers. What an error says about the
// log is there.
func TestTypesGenerated(t *testing.T) {
	rounds := sample.Of(1000, 1000, 30_000)
	count := map[string]int{}
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 77))
		text, h, events := drawLog(rng)
		x := drawTerm(rng, 1+rng.IntN(3))
		wrong, ok := x.illTyped(h)
		for tries := 0; seed%2 == 0 && wrong && tries < 60; tries++ { // as many without a mistake
			x = drawTerm(rng, 1+rng.IntN(3))
			wrong, ok = x.illTyped(h)
		}
		if !ok {
			continue
		}
		name := fmt.Sprintf("seed %d: %s\n%s", seed, x, text)
		p, err := predicate.Parse(x.String())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		execs, err := logs.Read([]logs.Input{{Name: "log", Data: []byte(text)}}, logs.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := execs[0].Computation
		n, err := p.Expand(predicate.NamesOf(c))
		if (err != nil) != wrong {
			t.Fatalf("%s: the error is %v, want one: %v", name, err, wrong)
		}
		if wrong {
			count["wrong"]++
			checkEvidence(t, name, err, text)
		}
		poss := false
		if !wrong {
			for k1 := range len(h["p1.b"]) {
				for k2 := range len(h["p2.b"]) {
					v, err := x.value(func(name string) any {
						return h[name][map[bool]int{true: k1, false: k2}[name[:2] == "p1"]]
					})
					poss = poss || err == nil && v.(bool)
				}
			}
			res, err := detect.Detect(context.Background(), c, n, detect.Poss, detect.Options{
				Workers: 1})
			if err != nil || res.Holds != poss {
				t.Fatalf("%s: possibly %v (%v), want %v", name, res.Holds, err, poss)
			}
			count[fmt.Sprint(poss)]++
		}
		// On line, the events of the hosts in any order between them.
		init := map[string]map[string]computation.Value{"p1": {}, "p2": {}}
		for _, i := range []int{0, 1} {
			for _, v := range c.Variables(i) {
				init[c.Name(i)][v.Name] = c.Values().Value(v.At(0))
			}
		}
		m, err := New(Config{Predicate: p, Hosts: []string{"p1", "p2"}, Modality: detect.Poss,
			Init: init})
		slices.SortStableFunc(events, func(a, b *Event) int {
			if a.Host == b.Host {
				return 0
			}
			return rng.IntN(3) - 1
		})
		for k := 0; err == nil && k < len(events); k++ {
			err = m.Add(events[k])
		}
		switch {
		case err != nil && !wrong:
			t.Fatalf("%s: on line: %v", name, err)
		case err == nil && wrong && m.Detected() == nil:
			t.Fatalf("%s: no error on line", name)
		case err == nil && !wrong && (m.Detected() != nil) != poss:
			t.Fatalf("%s: on line %v, want %v", name, m.Detected(), poss)
		}
		if bad := (*predicate.Error)(nil); err != nil && !errors.As(err, &bad) {
			t.Fatalf("%s: on line: %v", name, err)
		}
	}
	for _, k := range []string{"wrong", "true", "false"} {
		if count[k] < rounds/30 {
			t.Errorf("the cases are one-sided: %v", count)
		}
	}
}

// checkEvidence compares what an error says about variables with the log.
func checkEvidence(t *testing.T, name string, err error, text string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	msg, _, _ := strings.Cut(err.Error(), "\n")
	for _, m := range evidence.FindAllStringSubmatch(msg, -1) {
		line, _ := strconv.Atoi(m[3])
		host, variable, _ := strings.Cut(m[1], ".")
		if line < 1 || line > len(lines) || !strings.Contains(lines[line-1],
			strconv.Quote(variable)+":"+m[2]) || !strings.Contains(lines[line-1],
			strconv.Quote(host)) {
			t.Fatalf("%s: %v\nis not in the log", name, err)
		}
	}
}

// TestTypesKept: the first type of a variable is known after a checkpoint, even
// when the variable has another value since.
func TestTypesKept(t *testing.T) {
	p, err := predicate.Parse("p1.x == p2.x")
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Predicate: p, Hosts: []string{"p1", "p2"}}
	path := t.TempDir() + "/journal"
	j, m, err := OpenJournal(path, cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	long := "a" + strings.Repeat("b", 1000)
	for k, v := range []computation.Value{computation.StringValue(long), {}} {
		if err := m.Add(&Event{Host: "p1", Clock: map[string]int32{"p1": int32(k + 1)},
			Vars: map[string]computation.Value{"x": v}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.replace(true), j.Close()); err != nil {
		t.Fatal(err)
	}
	j, m, err = OpenJournal(path, cfg, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	err = m.Add(&Event{Host: "p2", Clock: map[string]int32{"p2": 1},
		Vars: map[string]computation.Value{"x": computation.IntValue(1)}})
	if err == nil || !strings.Contains(err.Error(),
		"in event 1 of host p1, and p2.x is 1 in event 1 of host p2") || len(err.Error()) > 400 {
		t.Fatalf("the error is %v", err)
	}
	if m.Status().Events != 2 {
		t.Errorf("%d events were taken", m.Status().Events)
	}
}

// TestBadDeclaration: initial values of the wrong type are refused, and a right
// declaration is taken afterwards.
func TestBadDeclaration(t *testing.T) {
	p, err := predicate.Parse("exists i: i.x")
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewService(Config{Predicate: p}, t.TempDir()+"/journal", 0, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	send := func(text string) error {
		return s.Stream(context.Background(), io.Reader(strings.NewReader(text)), nil)
	}
	if err := send(`{"hosts":["p1"],"init":{"p1":{"x":1}}}`); err == nil ||
		!strings.Contains(err.Error(), "p1.x is 1 in the initial state") {
		t.Errorf("the error is %v", err)
	}
	if err := send(`{"hosts":["p1"],"init":{"p1":{"x":false}}}` + "\n" +
		`{"host":"p1","clock":{"p1":1},"vars":{"x":true}}`); err != nil {
		t.Error(err)
	}
	if s.Status().Detected == nil {
		t.Error("it was not detected")
	}
}
