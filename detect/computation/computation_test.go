package computation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// ev is an event of a test's log.
type ev struct {
	host  string
	clock map[string]int32
}

func build(t *testing.T, lenient bool, evs ...ev) (*Computation, *IssueList, error) {
	t.Helper()
	b := NewBuilder("")
	b.Source("log")
	for i, e := range evs {
		b.Event(b.Host(e.host), i+1)
		for h, x := range e.clock {
			b.Entry(b.Host(h), x)
		}
	}
	return b.Build(lenient)
}

type vc = map[string]int32

func TestValidation(t *testing.T) {
	tests := []struct {
		name string
		evs  []ev
		errs []string // in strict mode
		// in lenient mode, the clocks of each host; nil: it cannot be repaired
		repair map[string][]Cut
	}{
		{"fine", []ev{{"a", vc{"a": 1}}, {"b", vc{"b": 1, "a": 1}}}, nil,
			map[string][]Cut{"a": {{1, 0}}, "b": {{1, 1}}}},
		{"any order in the file", []ev{{"b", vc{"b": 1, "a": 2}}, {"a", vc{"a": 2}},
			{"a", vc{"a": 1}}}, nil,
			map[string][]Cut{"a": {{1, 0}, {2, 0}}, "b": {{2, 1}}}},
		{"starts at 3", []ev{{"a", vc{"a": 3}}, {"b", vc{"b": 1, "a": 3}}},
			[]string{"log:1: the first event of host a has number 3, not 1"},
			map[string][]Cut{"a": {{1, 0}}, "b": {{1, 1}}}},
		{"gap", []ev{{"a", vc{"a": 1}}, {"a", vc{"a": 4}}, {"b", vc{"b": 1, "a": 3}}},
			[]string{"log:2: event 4 of host a follows event 1: events 2 to 3 are missing"},
			map[string][]Cut{"a": {{1, 0}, {2, 0}}, "b": {{1, 1}}}},
		{"twice", []ev{{"a", vc{"a": 1}}, {"a", vc{"a": 1}}},
			[]string{"log:2: event 1 of host a appears twice, first at log:1"},
			map[string][]Cut{"a": {{1}}}},
		{"no own entry", []ev{{"a", vc{"a": 1}}, {"a", vc{"b": 1}}, {"b", vc{"b": 1}}},
			[]string{"log:2: the clock has no entry for its own host a"},
			map[string][]Cut{"a": {{1, 0}, {2, 1}}, "b": {{0, 1}}}},
		{"unknown host", []ev{{"a", vc{"a": 1, "ghost": 2}}},
			[]string{"log:1: unknown host ghost in the clock: the log has no event of it"},
			map[string][]Cut{"a": {{1}}}},
		{"unknown event", []ev{{"a", vc{"a": 1, "b": 2}}, {"b", vc{"b": 1}}},
			[]string{"log:1: the clock contains event 2 of host b, which has only 1"},
			map[string][]Cut{"a": {{1, 1}}, "b": {{0, 1}}}},
		{"falls", []ev{{"b", vc{"b": 1}}, {"a", vc{"a": 1, "b": 1}}, {"a", vc{"a": 2}}},
			[]string{"log:3: the clock's entry for host b falls from 1 to 0"},
			map[string][]Cut{"a": {{1, 1}, {2, 1}}, "b": {{0, 1}}}},
		{"not transitive", []ev{{"a", vc{"a": 1}}, {"b", vc{"b": 1, "a": 1}},
			{"c", vc{"c": 1, "b": 1}}},
			[]string{"log:3: not transitive: the clock contains event 1 of host b (log:2), whose " +
				"clock has 1 for host a, but its own entry is 0"},
			map[string][]Cut{"a": {{1, 0, 0}}, "b": {{1, 1, 0}}, "c": {{1, 1, 1}}}},
		{"cyclic", []ev{{"a", vc{"a": 1, "b": 1}}, {"b", vc{"b": 1, "a": 1}}},
			[]string{"log:1: cyclic", "log:2: cyclic"}, nil},
		{"negative", []ev{{"a", vc{"a": 1, "b": -3}}, {"b", vc{"b": 1}}},
			[]string{"log:1: the clock's entry for host b is negative"},
			map[string][]Cut{"a": {{1, 0}}, "b": {{0, 1}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := build(t, false, tt.evs...)
			if (err != nil) != (tt.errs != nil) {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				lines := strings.Split(err.Error(), "\n")
				if len(lines) != len(tt.errs) {
					t.Fatalf("got %q", lines)
				}
				for i, l := range lines {
					if !strings.HasPrefix(l, tt.errs[i]) {
						t.Errorf("got %q, want %q", l, tt.errs[i])
					}
				}
			}
			c, repairs, err := build(t, true, tt.evs...)
			if tt.repair == nil {
				if err == nil {
					t.Error("a cycle was repaired")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (repairs.Len() > 0) != (tt.errs != nil) {
				t.Errorf("repairs %v", repairs)
			}
			got := map[string][]Cut{}
			for i := range c.N() {
				for k := int32(1); k <= c.Events(i); k++ {
					got[c.Name(i)] = append(got[c.Name(i)], c.Clock(i, k).Clone())
				}
			}
			if d := cmp.Diff(tt.repair, got); d != "" {
				t.Errorf("repaired (-want +got):\n%s", d)
			}
		})
	}
}

// TestRepairedIsValid: whatever lenient building makes of a damaged log is a
// computation that strict building accepts, and an undamaged one is left alone.
func TestRepairedIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"a", "b", "c"}
		var evs []ev
		clocks := map[string]vc{}
		for range rapid.IntRange(0, 12).Draw(t, "events") {
			h := rapid.SampledFrom(names).Draw(t, "host")
			if clocks[h] == nil {
				clocks[h] = vc{}
			}
			if len(evs) > 0 && rapid.Bool().Draw(t, "receive") {
				from := evs[rapid.IntRange(0, len(evs)-1).Draw(t, "from")]
				for g, x := range from.clock {
					clocks[h][g] = max(clocks[h][g], x)
				}
			}
			clocks[h][h]++
			e := ev{h, vc{}}
			for g, x := range clocks[h] {
				e.clock[g] = x
			}
			evs = append(evs, e)
		}
		damage := rapid.IntRange(0, 3).Draw(t, "damage")
		for range damage {
			if len(evs) == 0 {
				break
			}
			k := rapid.IntRange(0, len(evs)-1).Draw(t, "which")
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				evs = append(evs[:k:k], evs[k+1:]...)
			case 1:
				evs = append(evs, evs[k])
			case 2:
				evs[k].clock[rapid.SampledFrom(append(names, "z")).Draw(t,
					"entry")] += rapid.Int32Range(-2, 2).Draw(t, "by")
			case 3:
				evs[k], evs[0] = evs[0], evs[k]
			}
		}
		mk := func() *Builder {
			b := NewBuilder("")
			for i, e := range evs {
				b.Event(b.Host(e.host), i+1)
				for h, x := range e.clock {
					b.Entry(b.Host(h), x)
				}
			}
			return b
		}
		c, repairs, err := mk().Build(true)
		if err != nil {
			return // empty or cyclic
		}
		if _, _, strict := mk().Build(false); damage == 0 && strict != nil ||
			(strict == nil) != (repairs.Len() == 0) {
			t.Fatalf("strict says %v, lenient repaired %v", strict, repairs)
		}
		b := NewBuilder("")
		for i := range c.N() {
			b.Host(c.Name(i))
		}
		for i := range c.N() {
			for k := int32(1); k <= c.Events(i); k++ {
				b.Event(i, 0)
				b.SetClock(c.Clock(i, k))
			}
		}
		if _, _, err := b.Build(false); err != nil {
			t.Fatalf("the repaired computation is wrong: %v", err)
		}
	})
}

func TestVariablesAndCuts(t *testing.T) {
	b := NewBuilder("run")
	p, q := b.Host("p"), b.Host("q")
	x := b.Name("x")
	b.Init(p, x, IntValue(0), 0)
	event := func(h int, clock Cut, v *Value) {
		b.Event(h, 0)
		b.SetClock(clock)
		if v != nil {
			b.Assign(x, *v)
		}
	}
	one, two := IntValue(1), StringValue("two")
	event(p, Cut{1, 0}, &one)
	event(p, Cut{2, 0}, nil)
	event(p, Cut{3, 0}, &two)
	event(q, Cut{2, 1}, &one)
	c, _, err := b.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	for k, want := range []Value{IntValue(0), one, one, two} {
		if got := c.Value(p, int32(k), "x"); !got.Equal(want) {
			t.Errorf("x in state %d of p is %v, want %v", k, got, want)
		}
	}
	if c.Value(q, 0, "x").Defined() || !c.Value(q, 1, "x").Equal(one) {
		t.Error("x of q")
	}
	if c.Consistent(Cut{1, 1}) || !c.Consistent(Cut{2, 1}) || !c.Consistent(Cut{3, 0}) {
		t.Error("Consistent")
	}
	if c.Enabled(Cut{1, 0}, q) || !c.Enabled(Cut{2, 0}, q) || c.Enabled(c.Final(), p) {
		t.Error("Enabled")
	}
	order := c.Linearise(c.Initial(), c.Final())
	if d := cmp.Diff([]Event{{p, 1}, {p, 2}, {p, 3}, {q, 1}}, order); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]Message{{Event{p, 2}, Event{q, 1}}}, c.Messages(q, 1)); d != "" {
		t.Error(d)
	}
	if c.Label() != "run" || c.MaxStates() != 4 || c.TotalEvents() != 4 ||
		c.Describe(Cut{2, 1}) != "p:2 q:1" {
		t.Error("the rest")
	}
}

func TestHostOrder(t *testing.T) {
	b := NewBuilder("")
	for _, h := range []string{"p10", "p2", "q1", "p1"} {
		b.Declare(b.Host(h))
	}
	c, _, err := b.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"p1", "p2", "p10", "q1"}, c.Names()); d != "" {
		t.Error(d)
	}
	if _, _, err := NewBuilder("").Build(false); err != ErrEmpty {
		t.Errorf("an empty log: %v", err)
	}
}

func TestValues(t *testing.T) {
	for _, tt := range []struct {
		json, text string
	}{
		{"3", "3"}, {"3.0", "3"}, {"-0.5", "-0.5"}, {"1e400", "+Inf"},
		{"9223372036854775807", "9223372036854775807"}, {`"a\"b"`, `"a\"b"`},
		{"true", "true"}, {"null", "undefined"}, {`[1, "x", [true]]`, `[1, "x", [true]]`},
		{`{"b":1,"a":2}`, `[["a", 2], ["b", 1]]`},
	} {
		v, err := ParseJSON([]byte(tt.json))
		if err != nil || v.String() != tt.text {
			t.Errorf("ParseJSON(%s) = %v, %v; want %s", tt.json, v, err, tt.text)
		}
	}
	for text, want := range map[string]Value{"7": IntValue(7), "-7": IntValue(-7),
		"1.5": FloatValue(1.5), "true": BoolValue(true), "x7": StringValue("x7"),
		"": StringValue(""), "0x10": StringValue("0x10"), "-": StringValue("-"),
		"1e3": IntValue(1000), "inf": StringValue("inf")} {
		if got := ParseToken(text); !got.Equal(want) {
			t.Errorf("ParseToken(%q) = %v, want %v", text, got, want)
		}
	}
	if !SetValue([]Value{IntValue(2), IntValue(1), IntValue(2)}).Equal(
		SetValue([]Value{IntValue(1), IntValue(2)})) {
		t.Error("sets")
	}
	values := NewValues()
	if a := values.ID(FloatValue(2)); a != values.ID(IntValue(2)) || a == 0 ||
		values.ID(Value{}) != 0 || values.Len() != 2 {
		t.Error("ids")
	}
}
