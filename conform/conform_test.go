package conform_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/conform"
	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/frontend"
	_ "cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/sample"
)

// generated is a small model whose threads print after some of their steps.
func generated(r *rand.Rand, values bool) string {
	var b strings.Builder
	if values {
		b.WriteString("//cpor:value x is x\n")
	}
	b.WriteString("var x, y int\nvar c chan(2) int\nmutex m\n")
	threads := 2 + r.IntN(2)
	for t := range threads {
		fmt.Fprintf(&b, "thread T%d() {\n", t)
		for range 1 + r.IntN(5-threads) {
			step := []string{"x = %d", "y = %d", "atomic { x += %d }", "await(x != %d)",
				"select { case c <- %d: default: }",
				"select { case v := <-c: y = v + %d\n default: }",
				"x = choose(0, %d)", "choose { case: y = %d\n case: skip }", "skip // %d",
				"lock(m)\n y = %d\n unlock(m)", "for i := range 2 { y = i + %d }"}[r.IntN(11)]
			fmt.Fprintf(&b, step+"\n", r.IntN(3))
			for n := r.IntN(3); n > 0; n -= 1 + r.IntN(2) { // two in one step
				fmt.Fprintf(&b, "print(%q%s)\n", []string{"a", "b", "c"}[r.IntN(3)],
					[]string{"", ", x"}[r.IntN(8)/7])
			}
		}
		b.WriteString("}\n")
	}
	b.WriteString("init {\n")
	for t := range threads {
		fmt.Fprintf(&b, "go T%d()\n", t)
	}
	b.WriteString("}\n")
	return b.String()
}

func load(t testing.TB, source string) system.System {
	t.Helper()
	p, err := frontend.Read("test.model", strings.NewReader(source), frontend.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return p.System
}

// seen is a visible event of an execution.
type seen struct {
	thread, text, x string
}

// executions calls visit with the visible events of each execution, and of each prefix of one, as
// often as it comes; without any reduction or store. It stops when visit returns false.
func executions(m system.Machine, done []seen, visit func([]seen) bool) bool {
	if !visit(done) {
		return false
	}
	mark := m.Mark()
	for t := range m.NumThreads() {
		for alt, more := uint64(0), true; more; {
			out := m.Step(t, alt)
			if out.Kind != system.Moved {
				break
			}
			next := done
			for _, d := range m.Capabilities().Narrating.Story().Deeds {
				if d.Kind == system.Print {
					x := ""
					for _, b := range m.Capabilities().Showing.Variables() {
						if b.Name == "x" {
							x = b.Value
						}
					}
					next = append(next[:len(next):len(next)], seen{m.ThreadName(t),
						strings.TrimSpace(d.Value), x})
				}
			}
			if !executions(m, next, visit) {
				return false
			}
			m.Rewind(mark)
			alt, more = out.Next, out.Next != 0
		}
	}
	return true
}

func told(sys system.System) system.Machine {
	m := sys.NewMachine()
	m.Load(sys.Initial()[0])
	m.Track(true)
	m.Capabilities().Narrating.Narrate(true)
	return m
}

// logged is an event of a log: what was seen, and what it is behind.
type logged struct {
	seen
	clock map[string]int
}

// record returns a log of a random execution: each event is behind a few of those before it. With
// swap, two neighbors have changed places before that.
func record(r *rand.Rand, sys system.System, swap bool) []logged {
	m := told(sys)
	var all [][]seen
	executions(m, nil, func(s []seen) bool {
		all = append(all, s)
		return len(all) < 20_000
	})
	events := slices.Clone(all[r.IntN(len(all))])
	if swap && len(events) > 1 {
		i := r.IntN(len(events) - 1)
		events[i], events[i+1] = events[i+1], events[i]
	}
	var out []logged
	clocks := map[string]map[string]int{}
	for _, s := range events {
		c := map[string]int{}
		join := func(d map[string]int) {
			for h, k := range d {
				c[h] = max(c[h], k)
			}
		}
		join(clocks[s.thread])
		for _, e := range out {
			if r.IntN(4) == 0 {
				join(e.clock)
			}
		}
		c[s.thread]++
		clocks[s.thread] = c
		out = append(out, logged{s, c})
	}
	return out
}

// mutate changes one event of a log.
func mutate(r *rand.Rand, log []logged) {
	i := r.IntN(len(log))
	switch r.IntN(4) {
	case 0:
		log[i].text = "z"
	case 1:
		log[i].text = []string{"a", "b", "c"}[r.IntN(3)]
	case 2:
		log[i].x = fmt.Sprint(r.IntN(4))
	case 3: // exchange it with another of its host
		j := r.IntN(len(log))
		if log[i].thread == log[j].thread {
			log[i].seen, log[j].seen = log[j].seen, log[i].seen
		}
	}
}

// fits decides by the definition: an execution has the events of each host in their order, and no
// event before one that it is behind.
func fits(sys system.System, log []logged, values bool) bool {
	byHost := map[string][]logged{}
	for _, e := range log {
		byHost[e.thread] = append(byHost[e.thread], e)
	}
	found := false
	executions(told(sys), nil, func(s []seen) bool {
		if len(s) != len(log) {
			return true
		}
		count := map[string]int{}
		for _, x := range s {
			i := count[x.thread]
			if i >= len(byHost[x.thread]) {
				return true
			}
			e := byHost[x.thread][i]
			if e.text != x.text || values && e.x != "" && e.x != x.x {
				return true
			}
			for h, k := range e.clock {
				if h != x.thread && count[h] < k {
					return true
				}
			}
			count[x.thread]++
		}
		found = true
		return false
	})
	return found
}

// write writes a log; names are other names of the hosts than those of the threads.
func write(log []logged, names map[string]string, values bool) string {
	name := func(h string) string { return cmp.Or(names[h], h) }
	var b strings.Builder
	for _, e := range log {
		var c []string
		for h, k := range e.clock {
			c = append(c, fmt.Sprintf("%q:%d", name(h), k))
		}
		slices.Sort(c)
		vars := ""
		if values && e.x != "" {
			vars = fmt.Sprintf(`,"vars":{"x":%s}`, e.x)
		} else if values {
			vars = `,"vars":{"x":null}`
		}
		fmt.Fprintf(&b, `{"host":%q,"clock":{%s},"event":%q%s}`+"\n", name(e.thread),
			strings.Join(c, ","), e.text, vars)
	}
	return b.String()
}

func read(t testing.TB, log string) *computation.Computation {
	t.Helper()
	x, err := logs.Read([]logs.Input{{Name: "log", Data: []byte(log)}}, logs.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	return x[0].Computation
}

// drawn is a generated model and a log: of one of its executions, or with a change.
type drawn struct {
	source, text string
	sys          system.System
	mapping      *conform.Mapping
	c            *computation.Computation
	unnamed      bool // the names of the hosts say nothing
	fits         bool // by the definition, with the threads that were recorded
}

// generate draws a model and a log; nil if the log is empty.
func generate(t *testing.T, seed uint64) *drawn {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	values := r.IntN(2) == 0
	d := &drawn{source: generated(r, values)}
	d.sys = load(t, d.source)
	mutated := r.IntN(2) == 0
	swap := mutated && r.IntN(2) == 0
	log := record(r, d.sys, swap)
	if len(log) == 0 {
		return nil
	}
	var names map[string]string
	if d.unnamed = r.IntN(3) == 0; d.unnamed {
		names = map[string]string{"T0[0]": "h1", "T1[0]": "h2", "T2[0]": "h0"}
	}
	if values {
		for i := range log {
			if r.IntN(3) == 0 {
				log[i].x = ""
			}
		}
	}
	if mutated && !swap {
		mutate(r, log)
	}
	if d.fits = fits(d.sys, log, values); !mutated && !d.fits {
		t.Fatalf("seed %d: the oracle refuses a recorded execution", seed)
	}
	var err error
	if d.mapping, err = conform.ParseMapping("test.model", d.source); err != nil {
		t.Fatal(err)
	}
	d.text = write(log, names, values)
	d.c = read(t, d.text)
	return d
}

// compared is what came of a generated model and log.
type compared struct {
	diff    string // what the search got wrong; empty if nothing
	verdict conform.Verdict
	saved   int // nodes that the reduction saved
}

// compare compares the search, with and without its reduction, with the definition.
func compare(t *testing.T, seed uint64) (out compared) {
	d := generate(t, seed)
	if d == nil {
		return out
	}
	for _, full := range []bool{false, true} {
		res, err := conform.Check(t.Context(), d.sys, d.c, d.mapping,
			conform.Options{NoReduction: full})
		if err != nil {
			t.Fatal(err)
		}
		// Other threads may play the hosts than those that were recorded.
		got := res.Verdict == conform.Accepted
		if got != d.fits && (d.fits || !d.unnamed) {
			out.diff = fmt.Sprintf("seed %d, full %v: %v, want accepted: %v\n%s\n%s\n%+v", seed,
				full, res.Verdict, d.fits, d.source, d.text, res)
		}
		out.verdict = res.Verdict
		out.saved = res.Nodes - out.saved
		if err := res.Trace.Replay(d.sys); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	return out
}

// A silent loop that touches what nobody else does, beside the thread of the log.
const (
	silentLoop = `var x int
thread Loop() { for { skip } }
thread Log() {
	x = 1
	print("one")
	x = 2
	print("two")
}
init { go Loop(); go Log() }`
	silentLog = `{"host":"Log[0]","clock":{"Log[0]":1},"event":"one"}
{"host":"Log[0]","clock":{"Log[0]":2},"event":"two"}`
)

// followed reports whether a model accepts a log.
func followed(t *testing.T, source, log string) bool {
	mapping, err := conform.ParseMapping("test.model", source)
	if err != nil {
		t.Fatal(err)
	}
	res, err := conform.Check(t.Context(), load(t, source), read(t, log), mapping,
		conform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Verdict == conform.Accepted
}

// TestSilentLoop holds that a silent loop keeps nobody from moving.
func TestSilentLoop(t *testing.T) {
	if !followed(t, silentLoop, silentLog) {
		t.Error("the log is refused")
	}
}

// TestMapping tries the lines of a mapping, right and wrong.
func TestMapping(t *testing.T) {
	const model = "var x int\nvar c [2]chan(1) int\n" +
		"thread P(i int) { c[i] <- i + 5\n x = i + 1\n print(\"p\", i) }\ninit { go P(1); go P(0) }"
	for _, c := range []struct {
		name, mapping, log string
		want               string // accepted, or a part of the error
	}{
		{"prints", "", `{"host":"P[1]","clock":{"P[1]":1},"event":"p 0"}`, "accepted"},
		{"nobody's name", "", `{"host":"h","clock":{"h":1},"event":"p 1"}`, "accepted"},
		{"another text", "", `{"host":"h","clock":{"h":1},"event":"q"}`, "rejected"},
		{"a name twice", `//cpor:event "did {i}" => print "p {i}"`,
			`{"host":"h","clock":{"h":1},"event":"did 1"}`, "accepted"},
		{"another value", `//cpor:event "did {i}" => print "p {i}"`,
			`{"host":"h","clock":{"h":1},"event":"did 2"}`, "rejected"},
		{"any value", `//cpor:event "did {_}" => print "p {i}"`,
			`{"host":"h","clock":{"h":1},"event":"did 2"}`, "accepted"},
		{"a message", `//cpor:event "sends" with v={m} => send "{m}" to "c[{i}]"`,
			`{"host":"h","clock":{"h":1},"event":"sends","vars":{"v":6}}`, "accepted"},
		{"another message", `//cpor:event "sends" with v={m} => send "{m}" to "c[0]"`,
			`{"host":"h","clock":{"h":1},"event":"sends","vars":{"v":6}}`, "rejected"},
		{"a host", "//cpor:host n{i} is P[{i}]\n" + `//cpor:event "a" => print "p {i}"`,
			`{"host":"n1","clock":{"n1":1},"event":"a"}`, "rejected"}, // P[1] prints p 0
		{"a value", "//cpor:value x is x\n" + `//cpor:event "a" => print "p {_}"`,
			`{"host":"h","clock":{"h":1},"event":"a","vars":{"x":2}}`, "accepted"},
		{"no value", "//cpor:value x is x\n" + `//cpor:event "a" => print "p {_}"`,
			`{"host":"h","clock":{"h":1},"event":"a","vars":{"x":3}}`, "rejected"},
		{"nothing mapped", `//cpor:event "a" => print "p {_}"`,
			`{"host":"h","clock":{"h":1},"event":"b"}`, "none of the 1 events"},
		{"unknown", "//cpor:evnt x", "", "//cpor:evnt is unknown: want event, host or value"},
		{"no arrow", `//cpor:event "x"`, "", "want event"},
		{"an arrow in the text", `//cpor:event "a => with {b}" => print "p {b}"`,
			`{"host":"h","clock":{"h":1},"event":"a => with 1"}`, "accepted"},
		{"a string", `//cpor:event "a" with v={m} => print "{m} 1"`,
			`{"host":"h","clock":{"h":1},"event":"a","vars":{"v":"p"}}`, "accepted"},
		{"another string", `//cpor:event "a" with v={m} => print "{m} 1"`,
			`{"host":"h","clock":{"h":1},"event":"a","vars":{"v":"q"}}`, "rejected"},
		{"a variable without a value", `//cpor:event "a" with v={m} => print "p {m}"`,
			`{"host":"h","clock":{"h":1},"event":"a"}`, "accepted"},
		{"a value is wanted", `//cpor:event "a" with v=1 => print "p {_}"`,
			`{"host":"h","clock":{"h":1},"event":"a"}`, "none of the 1 events"},
		{"a tab", "//cpor:event\t\"a\"\twith\tv=1\t=>\tprint\t\"p {_}\"",
			`{"host":"h","clock":{"h":1},"event":"a","vars":{"v":1}}`, "accepted"},
		{"no value's name", `//cpor:event "x" with =1 => print "y"`, "", `"=1": want event`},
		{"something else", `//cpor:event "x" when v=1 => print "y"`, "", `"when": want event`},
		{"more", `//cpor:event "x" => print "y" z`, "", `"z": want event`},
		{"another word", `//cpor:event "x" => send "y" from "c"`, "", `want event`},
		{"no channel", `//cpor:event "x" => send "y" to`, "", "not a text in quotation marks"},
		{"no thread", `//cpor:host x is y,`, "", "want host NAME is THREAD"},
		{"another name", `//cpor:host h{i} is P[{j}]`, "", "does not say what {i} in host h{i} is"},
		{"no name", `//cpor:host h{_} is P[{_}]`, "", "does not say what {_} in host h{_} is"},
		{"no name of a value", `//cpor:value  is x`, "", "want value NAME is VARIABLE"},
		{"no quotes", `//cpor:event x => print "y"`, "", `"x" is not a text in quotation marks`},
		{"no verb", `//cpor:event "x" => says "y"`, "", `"says": want event`},
		{"no is", `//cpor:host x`, "", "want host NAME is THREAD"},
		{"no variable", `//cpor:value x`, "", "want value NAME is VARIABLE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			source := c.mapping + "\n" + model
			mapping, err := conform.ParseMapping("test.model", source)
			var res *conform.Result
			if err == nil {
				res, err = conform.Check(t.Context(), load(t, source), read(t, c.log), mapping,
					conform.Options{Lost: func(string) bool { return true }})
			}
			switch {
			case err != nil && !strings.Contains(err.Error(), c.want):
				t.Errorf("%v, want %s", err, c.want)
			case err == nil && string(res.Verdict) != c.want:
				t.Errorf("%v, want %s", res.Verdict, c.want)
			}
		})
	}
}

func TestBruteForce(t *testing.T) {
	n := sample.Of[uint64](30, 100, 2000)
	count := map[conform.Verdict]uint64{}
	saved := 0
	for seed := range n {
		c := compare(t, seed)
		if c.diff != "" {
			t.Fatal(c.diff)
		}
		count[c.verdict]++
		saved += c.saved
	}
	if count[conform.Accepted] < n/4 || count[conform.Rejected] < n/10 ||
		n >= 100 && saved < int(n)/2 {
		t.Errorf("verdicts %v, %d nodes saved: too few to compare", count, saved)
	}
}
