package traces

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime/trace"
	"strings"
	"testing"

	"cpor/detect/computation"
	"cpor/detect/simulate"

	"github.com/google/go-cmp/cmp"
)

func otlpLine(service, instance, spans string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"` + service + `"}},{"key":"service.instance.id","value":{"stringValue":"` + instance +
		`"}}]},"scopeSpans":[{"spans":[` + spans + `]}]}]}` + "\n"
}

// dump prints the events of a computation with their clocks and assignments.
func dump(c *computation.Computation) string {
	var sb strings.Builder
	for i := range c.N() {
		for k := int32(1); k <= c.Events(i); k++ {
			fmt.Fprintf(&sb, "%s %v %s", c.Name(i), c.Clock(i, k), c.Text(i, k))
			for _, v := range c.Variables(i) {
				if v.At(k) != v.At(k-1) {
					fmt.Fprintf(&sb, " %s=%v", v.Name, c.Values().Value(v.At(k)))
				}
			}
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}

func build(t *testing.T, b *computation.Builder) *computation.Computation {
	t.Helper()
	c, _, err := b.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOTLP(t *testing.T) {
	a := otlpLine("a", "",
		`{"traceId":"t","spanId":"1","name":"call","startTimeUnixNano":"1000","endTimeUnixNano":"5000","attributes":[{"key":"http.method","value":{"stringValue":"GET"}}],
		"events":[{"timeUnixNano":"2000","name":"sent","attributes":[{"key":"n-bytes","value":{"intValue":"7"}}]}]}`)
	b := otlpLine("b", "x",
		`{"traceId":"t","spanId":"2","parentSpanId":"1","name":"serve","startTimeUnixNano":"100","endTimeUnixNano":"200"}`) +
		otlpLine("b", "y",
			`{"traceId":"u","spanId":"3","name":"later","startTimeUnixNano":50,"links":[{"traceId":"t","spanId":"2"},{"traceId":"t","spanId":"9"}]}`)
	builder := computation.NewBuilder("")
	notes, err := ReadOTLP([]byte(a+b), builder)
	if err != nil {
		t.Fatal(err)
	}
	want := `a [1 0 0] start call http.method="GET" open=1 open.call=1
a [2 0 0] sent n_bytes=7
a [3 0 0] end call open=0 open.call=0
b@x [1 1 0] start serve open=1 open.serve=1
b@x [1 2 0] end serve open=0 open.serve=0
b@y [1 1 1] start later open=1 open.later=1
`
	if d := cmp.Diff(want, dump(build(t, builder))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"1 parents and links are not in the recording, and nothing is " +
		"known of their order; the first is t:9 of span u:3 (later)"}, notes); d != "" {
		t.Error(d)
	}
	span := func(id, more string) string {
		return `{"traceId":"t","spanId":"` + id + `","name":"s` + id +
			`","startTimeUnixNano":"1","endTimeUnixNano":"2"` + more + `}`
	}
	for text, want := range map[string]string{
		"":                                "the recording has no spans",
		"{\n":                             "line 2: unexpected EOF",
		`{"resourceSpans":7}`:             "line 1: json: cannot unmarshal number",
		otlpLine("a", "", `{"name":"x"}`): `a span ("x") has no spanId or no startTimeUnixNano`,
		otlpLine("a", "", span("1", "")+","+
			span("1", "")): "span t:1 (s1) appears twice",
		otlpLine("a", "", strings.Replace(span("1", ""), `"2"`, `"0.5"`,
			1)): "line 1: \"0.5\" is not a time or count",
		otlpLine("a", "", span("1", `,"parentSpanId":"2"`)) + otlpLine("b", "",
			span("2", `,"parentSpanId":"1"`)): "the order of the times contradicts that of the " +
			"spans",
	} {
		if _, err := ReadOTLP([]byte(text), computation.NewBuilder("")); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestJaeger(t *testing.T) {
	text := `{"data":[{"traceID":"t","spans":[
		{"traceID":"t","spanID":"1","operationName":"call","references":[],"startTime":1000,"duration":10,"tags":[{"key":"x","type":"int64","value":3}],"processID":"p1",
		 "logs":[{"timestamp":1005,"fields":[{"key":"event","value":"sent"},{"key":"ok","value":true}]}]},
		{"traceID":"t","spanID":"2","operationName":"serve","references":[{"refType":"CHILD_OF","traceID":"t","spanID":"1"}],"startTime":7,"duration":1,"processID":"p2"}],
		"processes":{"p1":{"serviceName":"a"},"p2":{"serviceName":"b","tags":[{"key":"hostname","value":"h"}]}}}]}`
	builder := computation.NewBuilder("")
	if _, err := ReadJaeger([]byte(text), builder); err != nil {
		t.Fatal(err)
	}
	want := `a [1 0] start call open=1 open.call=1 x=3
a [2 0] sent event="sent" ok=true
a [3 0] end call open=0 open.call=0
b [1 1] start serve open=1 open.serve=1
b [1 2] end serve open=0 open.serve=0
`
	if d := cmp.Diff(want, dump(build(t, builder))); d != "" {
		t.Error(d)
	}
	if _, err := ReadJaeger([]byte(strings.Replace(text, `"processID":"p2"`, `"processID":"p3"`,
		1)), computation.NewBuilder("")); err == nil || !strings.Contains(err.Error(),
		`no process "p3"`) {
		t.Error(err)
	}
}

// TestClocks: a random computation that is taken apart into its messages gets
// its clocks back.
func TestClocks(t *testing.T) {
	for seed := range 300 {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		c := simulate.Random(rng, simulate.RandomConfig{Processes: rng.IntN(5) + 1,
			Events: rng.IntN(40), Messages: 0.5, Variables: 1, Values: 2, Assign: 0.5})
		g := newGraph()
		number := map[computation.Event]int{}
		for i := range c.N() {
			h := g.host(c.Name(i))
			for k := int32(1); k <= c.Events(i); k++ {
				number[computation.Event{Process: i, Index: k}] = g.add(h, int64(k), "e")
			}
		}
		for i := range c.N() {
			for k := int32(1); k <= c.Events(i); k++ {
				for _, m := range c.Messages(i, k) {
					e := &g.events[number[m.To]]
					e.before = append(e.before, number[m.From])
				}
			}
		}
		b := computation.NewBuilder("")
		if err := g.build(b); err != nil {
			t.Fatal(err)
		}
		got := build(t, b)
		for i := range c.N() {
			for k := int32(1); k <= c.Events(i); k++ {
				if d := cmp.Diff(c.Clock(i, k), got.Clock(i, k)); d != "" {
					t.Fatalf("seed %d: event %d of %s: %s", seed, k, c.Name(i), d)
				}
			}
		}
	}
}

func FuzzOTLP(f *testing.F) {
	f.Add([]byte(otlpLine("a", "",
		`{"traceId":"t","spanId":"1","name":"x","startTimeUnixNano":"1","parentSpanId":"1"}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := computation.NewBuilder("")
		if _, err := ReadOTLP(data, b); err == nil {
			build(t, b)
		}
	})
}

func FuzzJaeger(f *testing.F) {
	f.Add(
		[]byte(
			`{"data":[{"spans":[{"traceID":"t","spanID":"1","startTime":1,"duration":-5,"processID":"p"}],"processes":{"p":{"serviceName":""}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := computation.NewBuilder("")
		if _, err := ReadJaeger(data, b); err == nil {
			build(t, b)
		}
	})
}

func FuzzGoTrace(f *testing.F) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err == nil {
		done := make(chan bool)
		go func() { done <- true }()
		<-done
		trace.Stop()
	}
	f.Add(buf.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		b := computation.NewBuilder("")
		if err := ReadGoTrace(data, b); err == nil {
			build(t, b)
		}
	})
}
