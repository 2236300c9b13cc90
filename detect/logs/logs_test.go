package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"cpor/detect/computation"
	"cpor/detect/simulate"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func read(t *testing.T, text string, opt Options) []Execution {
	t.Helper()
	execs, err := Read([]Input{{"log", []byte(text)}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return execs
}

// dump prints everything that a computation holds.
func dump(c *computation.Computation) string {
	var sb strings.Builder
	fmt.Fprintln(&sb, c.Label(), c.Names())
	for i := range c.N() {
		for k := int32(0); k <= c.Events(i); k++ {
			fmt.Fprintf(&sb, "%s:%d %v", c.Name(i), k, c.Clock(i, k))
			if k > 0 {
				fmt.Fprintf(&sb, " %q", c.Text(i, k))
			}
			for _, v := range c.Variables(i) {
				fmt.Fprintf(&sb, " %s=%v", v.Name, c.Values().Value(v.At(k)))
			}
			fmt.Fprintln(&sb)
		}
	}
	return sb.String()
}

// TestRoundTrip: a computation that is written as JSON lines and read again is
// the same; as a ShiViz log it is the same but for the initial values, which
// that has no place for.
func TestRoundTrip(t *testing.T) {
	for seed := range 200 {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		c := simulate.Random(rng, simulate.RandomConfig{Processes: rng.IntN(5) + 1,
			Events: rng.IntN(40), Messages: 0.5, Variables: 3, Values: 4, Assign: 0.5,
			Undefined: true})
		var buf bytes.Buffer
		if err := WriteJSONLines(&buf, c); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(dump(c), dump(read(t, buf.String(), Options{})[0].Computation)); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		if c.TotalEvents() == 0 {
			continue
		}
		buf.Reset()
		if err := WriteShiViz(&buf, c, c.Linearise(c.Initial(), c.Final()), nil); err != nil {
			t.Fatal(err)
		}
		x := read(t, buf.String(), Options{})[0].Computation
		for i := range x.N() {
			j, _ := c.Process(x.Name(i))
			if x.Events(i) != c.Events(j) {
				t.Fatalf("seed %d: %d events of %s", seed, x.Events(i), x.Name(i))
			}
			for k := int32(1); k <= x.Events(i); k++ {
				if x.Text(i, k) != c.Text(j, k) {
					t.Fatalf("seed %d: text %q, want %q", seed, x.Text(i, k), c.Text(j, k))
				}
			}
		}
	}
}

func TestAssignments(t *testing.T) {
	tests := map[string]string{
		"x=3":                               "x=3",
		"send x=3, y=-4.5; z=word.":         `x=3 y=-4.5 z="word"`,
		"(x=3) [y=true]":                    "x=3 y=true",
		`name="a b" other=1`:                `name="a b" other=1`,
		`s="unclosed x=1`:                   `x=1`,
		`list=[1,"b",true] after=1`:         `after=1 list=[1, "b", true]`,
		`state={"term":3,"who":{"id":7}}`:   `state.term=3 state.who.id=7`,
		`got {"role":"leader","term":3}`:    `role="leader" term=3`,
		`{"x":1} and {"y":[2]}`:             "x=1 y=[2]",
		`{not json} x=2`:                    "x=2",
		"a==b c<=d e>=f g!=h i=>j k=~l":     "",
		"x= y=1":                            `x="" y=1`,
		"peer.id=4 .x=3 4y=2":               "peer.id=4 x=3 y=2",
		`a "quoted x=1" b`:                  "",
		"x=1 x=2":                           "x=2",
		"größe=3":                           "größe=3",
		"=3 =":                              "",
		"at 10:30:15.5 term=2:":             "term=2",
		`x=null y={"z":null}`:               `x="null"`,
		"url=http://h/p?q=1 z=2":            `url="http://h/p?q=1" z=2`,
		"x=[1, y=2":                         `x="[1" y=2`,
		"vote=none\tleader=node-1:80":       `leader="node-1:80" vote="none"`,
		"Initialization Complete":           "",
		`log=[{"a":1},{"a":2}]`:             `log=[[["a", 1]], [["a", 2]]]`,
		`{"a":{"b":{"c":true}}, "d":null }`: "a.b.c=true",
	}
	for text, want := range tests {
		c := read(t, "a {\"a\":1}\n"+text+"\n", Options{})[0]
		var got []string
		for _, v := range c.Variables(0) {
			if x := c.Values().Value(v.At(1)); x.Defined() {
				got = append(got, fmt.Sprintf("%s=%v", v.Name, x))
			}
		}
		if d := cmp.Diff(want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

func TestLayouts(t *testing.T) {
	want := `[a b]
a:0 [0 0] x=undefined
a:1 [1 0] "x=1" x=1
a:2 [2 1] "got it" x=1
b:0 [0 0] y=undefined
b:1 [0 1] "y=2" y=2
`
	tests := map[string]struct {
		log string
		opt Options
	}{
		"GoVector": {"a {\"a\":1}\nx=1\nb {\"b\":1}\ny=2\na {\"a\":2, \"b\":1}\ngot it\n",
			Options{}},
		"ShiViz": {"x=1\na {\"a\":1}\ny=2\nb {\"b\":1}\ngot it\na {\"a\":2,\"b\":1}\n",
			Options{}},
		"header": {
			"(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})\n\nx=1\na {\"a\":1}\ny=2\nb " +
				"{\"b\":1}\ngot it\na {\"a\":2,\"b\":1}\n", Options{}},
		"no second line": {"(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\na {\"a\":1}\nx=1\nb " +
			"{\"b\":1}\ny=2\na {\"a\":2, \"b\":1}\ngot it\n", Options{}},
		"carriage returns": {
			"a {\"a\":1}\r\nx=1\r\nb {\"b\":1}\r\ny=2\r\na {\"a\":2, \"b\":1}\r\ngot it\r\n",
			Options{}},
		"blank lines": {
			"\na {\"a\":1}\nx=1\n\n\nb { \"b\" : 1 }\ny=2\na {\"a\":2,\"b\":1}\ngot it", Options{}},
		"zero entries": {
			"a {\"a\":1,\"b\":0,\"c\":0}\nx=1\nb {\"b\":1}\ny=2\na {\"b\":1,\"a\":2}\ngot it",
			Options{}},
		"escaped host": {
			"a {\"\\u0061\":1}\nx=1\nb {\"b\":1}\ny=2\na {\"b\":1,\"a\":2}\ngot it", Options{}},
		"one line": {
			"[a] x=1 {\"a\":1}\n[b] y=2 {\"b\":1}\nnoise\n[a] got it {\"b\":1,\"a\":2}\n",
			Options{Regexp: `\[(?<host>\w+)\] (?<event>.*) (?<clock>\{.*\})`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(want, strings.TrimPrefix(dump(read(t, tt.log, tt.opt)[0].Computation),
				" ")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestMistakes(t *testing.T) {
	tests := map[string]struct {
		log  string
		opt  Options
		want string
	}{
		"empty": {"", Options{}, "log: the log has no events"},
		"no layout": {"hello\nworld\n", Options{},
			"log: the layout of the log is not one of the two default ones"},
		"repeated key": {"a {\"a\":2,\"a\":1}\nx\n", Options{},
			"log:1: the clock names host a twice, with different counts"},
		"twice the label": {"== t\na {\"a\":1}\nx\n== t\nb {\"b\":1}\nx\n",
			Options{Delimiter: `== (?<trace>.*)`}, "log:4: execution t begins twice"},
		"no delimiter": {"a {\"a\":1}\nx\na {\"a\":2}\ny\n=== next ===\na {\"a\":1}\nx\n",
			Options{},
			"log:6: the hosts begin again with event 1 here: perhaps the log has several executions"},
		"bad clock": {"a {\"a\":one}\nx\n", Options{},
			"log:1: the clock's entry for host a is not a count: one"},
		"clock of strings": {"a {\"a\":\"1\"}\nx\n", Options{},
			"log:1: the clock's entry for host a is not a count"},
		"too large": {"a {\"a\":99999999999}\nx\n", Options{},
			"log:1: the clock's entry for host a is not a count: 99999999999"},
		"half a clock": {"a {\"a\":1 \"b\":2}\nx\n", Options{},
			"log:1: the clock is not a JSON object"},
		"bad delimiter": {"a {\"a\":1}\nx\n", Options{Delimiter: "("},
			"log: regular expression"},
		"nothing matches": {"a {\"a\":1}\nx\n",
			Options{Regexp: `(?<host>\d) (?<event>.) (?<clock>.)`}, "log: the regular expression"},
		"unknown format": {"", Options{Format: "xml"}, "there is no log format"},
		"json: no host": {`{"clock":{"a":1}}`, Options{},
			"log:1: neither an event with a host nor a declaration"},
		"json: array": {`{"hosts":["a","b"]}` + "\n" + `{"host":"a","clock":[1]}`, Options{},
			"log:2: the clock has 1 entries for the 2 declared hosts"},
		"json: garbage": {`{"host":"a","clock":{"a":1}} x`, Options{Format: "jsonl"},
			"log:1: unexpected text after the object: x"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]Input{{"log", []byte(tt.log)}}, tt.opt)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := ReadFiles([]string{"/does/not/exist"}, nil, Options{}); err == nil {
		t.Error("no error for a missing file")
	}
}

func TestSeveralExecutions(t *testing.T) {
	log := "=== one ===\na {\"a\":1}\nx=1\n=== two ===\na {\"a\":1}\nx=2\na {\"a\":2}\nx=3\n"
	opt := Options{Delimiter: `^=== (?<trace>\w+) ===$`}
	execs := read(t, log, opt)
	if len(execs) != 2 || execs[0].Label() != "one" || execs[1].TotalEvents() != 2 {
		t.Fatalf("%d executions", len(execs))
	}
	// Two files of the same two executions are put together.
	second := strings.ReplaceAll(strings.ReplaceAll(log, "a {", "b {"), `"a"`, `"b"`)
	execs, err := Read([]Input{{"1", []byte(log)}, {"2", []byte(second)}}, opt)
	if err != nil || len(execs) != 2 || execs[1].TotalEvents() != 4 || execs[1].N() != 2 {
		t.Fatalf("%v: %d executions", err, len(execs))
	}
	// With an expression of one's own, too.
	opt.Regexp = `(?<host>\w) (?<clock>{.*})\n(?<event>x.*)`
	if execs := read(t, log, opt); len(execs) != 2 || execs[1].Label() != "two" ||
		execs[1].TotalEvents() != 2 {
		t.Fatalf("%d executions", len(execs))
	}
}

// TestAsShiViz: what the ShiViz site accepts is accepted, and what it ignores is
// ignored, but counted.
func TestAsShiViz(t *testing.T) {
	want := `[a b]
a:0 [0 0] x=undefined
a:1 [1 0] "x=1" x=1
a:2 [2 1] "got it" x=1
b:0 [0 0] y=undefined
b:1 [0 1] "y=2" y=2
`
	const text = "x=1\na {\"a\":1}\ny=2\nb {\"b\":1}\ngot it\na {\"a\":2,\"b\":1}\n"
	tests := map[string]struct {
		log     string
		opt     Options
		ignored int
	}{
		"byte order mark":            {"\xef\xbb\xbf" + text, Options{}, 0},
		"byte order mark and header": {"\xef\xbb\xbf" + ShiVizRegexp + "\n\n" + text, Options{}, 0},
		"blanks after the clock":     {strings.ReplaceAll(text, "}", "} "), Options{}, 0},
		"blanks, GoVector": {
			"a {\"a\":1}  \nx=1\nb {\"b\":1}\t\ny=2\na {\"a\":2, \"b\":1} \ngot it\n", Options{},
			0},
		"the site's default, given": {strings.ReplaceAll(text, "}", "} "),
			Options{Regexp: ShiVizRegexp}, 0},
		"carriage returns": {ShiVizRegexp + "\r\n\r\n" + strings.ReplaceAll(text, "\n",
			"\r\n"), Options{}, 0},
		"carriage returns, own": {strings.ReplaceAll(text, "\n", "\r\n"),
			Options{Regexp: `(?<event>.*)\n(?<host>\w+) (?<clock>\{.*\})$`}, 0},
		"only carriage returns": {strings.ReplaceAll(text, "\n", "\r"), Options{}, 0},
		"noise before":          {"# made by hand\n# on a Sunday\n\n" + text, Options{}, 2},
		"noise between": {strings.ReplaceAll(text, "y=2", "(pause)\n\n(pause)\ny=2"),
			Options{}, 2},
		"noise after":    {text + "bye\n", Options{}, 1},
		"escaped clocks": {strings.ReplaceAll(text, `"`, `\"`), Options{}, 0},
		"equal repeated keys": {strings.ReplaceAll(text, `{"b":1}`, `{"b":1,"b":1}`),
			Options{}, 0},
		"other order, of a model checker": {
			"State 1: <Init>\nHost = a\nClock = \"{\\\"a\\\":1}\"\nx=1\n\nState 2: <Next>\nHost " +
				"= b\nClock = \"{\\\"b\\\":1}\"\ny=2\n\n" +
				"State 3: <Next>\nHost = a\nClock = \"{\\\"a\\\":2,\\\"b\\\":1}\"\ngot " +
				"it\n\nFinished.\n",
			Options{
				Regexp: `^State (\d+): .*\nHost = (?<host>.*)\nClock = "(?<clock>.*)"\n(?<event>.*)`}, 1},
		"text before the host": {
			strings.ReplaceAll("a {\"a\":1}\nx=1\nb {\"b\":1}\ny=2\na {\"a\":2,\"b\":1}\ngot it\n",
				" {", " {"), Options{Regexp: GoVectorRegexp}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			x := read(t, tt.log, tt.opt)[0]
			if d := cmp.Diff(want, strings.TrimPrefix(dump(x.Computation), " ")); d != "" {
				t.Error(d)
			}
			got := 0
			if x.Ignored != nil {
				got = x.Ignored.Lines
			}
			if got != tt.ignored {
				t.Errorf("%d lines were ignored, want %d: %+v", got, tt.ignored, x.Ignored)
			}
		})
	}
	// Where the first ignored line stands.
	x := read(t, "a {\"a\":1}\nx=1\nnoise\na {\"a\":2}\nx=2\n", Options{})[0]
	if x.TotalEvents() != 2 || x.Ignored == nil || x.Ignored.First.String() != "log:3" ||
		x.Ignored.Text != "noise" {
		t.Errorf("%+v", x.Ignored)
	}
	// What a repair drops is counted.
	x = read(t, strings.Repeat("a {\"a\":1}\nx=1\n", 5)+"a {\"a\":one}\nx=1\n",
		Options{Lenient: true})[0]
	if x.TotalEvents() != 1 || x.Repairs.Dropped != 5 {
		t.Errorf("%d events, %d dropped", x.TotalEvents(), x.Repairs.Dropped)
	}
}

// TestFields: the groups of the parser stay in a log that is written.
func TestFields(t *testing.T) {
	opt := Options{
		Regexp: `(?<date>\S+)(?: (?<path>/\S+))? (?<host>\w+) (?<clock>{.*}) (?<event>.*)`}
	first := read(t, "07:30 /a/b n1 {\"n1\":1} x=1\n007 n2 {\"n2\":1,\"n1\":1} y=2\n",
		opt)[0].Computation
	var buf bytes.Buffer
	if err := WriteShiViz(&buf, first, first.Linearise(first.Initial(), first.Final()),
		func(computation.Event) string { return "[cut] " }); err != nil {
		t.Fatal(err)
	}
	second := read(t, buf.String(), Options{})[0].Computation
	for _, x := range []*computation.Computation{first, second} {
		for name, want := range map[string]string{"date": "07:30", "path": "/a/b"} {
			if got, ok := x.Field(0, 1, name); got != want || !ok {
				t.Errorf("%s is %q in\n%s", name, got, buf.String())
			}
		}
		if got, _ := x.Field(1, 1, "date"); got != "007" {
			t.Errorf("the second date is %q", got)
		}
		if _, ok := x.Field(1, 1, "path"); ok {
			t.Error("the second event has a path")
		}
	}
	if got := second.Text(0, 1); got != "[cut] x=1" {
		t.Errorf("text %q", got)
	}
}

// matches are the places of the groups, found by the regular expression.
func matches(expr string, data []byte) [][]int {
	return regexp.MustCompile("(?m)"+expr).FindAllSubmatchIndex(data, -1)
}

// FuzzMatchers: the scanners of the default layouts find what their regular
// expressions find.
func FuzzMatchers(f *testing.F) {
	for _, text := range []string{"x\na {\"a\":1}\ny\nb {} \n", "a {1} {2}\n\n a { {\n{}\n",
		"a b {} {}}\nx {}\ny {}", " {}\n {}\n {}", "a\t{}\n\f {}\r\n", "\xff {\xff}\n\xff"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { compareMatchers(t, data) })
}

func compareMatchers(t *testing.T, data []byte) {
	for _, tt := range []struct {
		expr string
		next func([]byte, int) []int
	}{
		{GoVectorRegexp, func(data []byte, at int) []int { return nextGoVector(data, at, false) }},
		{ShiVizRegexp, nextShiViz},
	} {
		var got [][]int
		for m := tt.next(data, 0); m != nil; m = tt.next(data, m[1]) {
			got = append(got, m)
		}
		if d := cmp.Diff(matches(tt.expr, data), got); d != "" {
			t.Fatalf("%s in %q: %s", tt.expr, data, d)
		}
	}
}

func TestMatchers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", " ", "{", "}", "\n", "\t", "b {", "} ", "}\n", "\f", "\xff", "x y {}\n"}
	for range 20_000 {
		var data []byte
		for range rng.IntN(14) {
			data = append(data, pieces[rng.IntN(len(pieces))]...)
		}
		compareMatchers(t, data)
	}
}

// FuzzFastLine: a line that is read fast is one that encoding/json reads, with
// the same content.
func FuzzFastLine(f *testing.F) {
	f.Add(
		[]byte(
			`{"host":"a","clock":{"a":1,"b":0},"event":"x","vars":{"x":1,"y":[1,{"z":null}],"w":{"v":true}}}`,
		))
	f.Add([]byte(`{"clock": {"a": 01}, "host" : "a\u0062" , "vars":{"s":"\"", "f":-1.5e3}}`))
	f.Add([]byte(`{"host":"a","clock":{"a":1},"vars":{"x":1},"vars":{"y":2}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var fast fastLine
		clock := clockScanner{b: computation.NewBuilder("")}
		if !utf8.Valid(text) || !fast.parse(text, &clock) {
			return
		}
		got := map[string]computation.Value{}
		a := assignments{opt: &Options{}, set: func(name []byte, v computation.Value) {
			got[string(name)] = v
		}}
		if err := a.assignVars(&fast); err != nil {
			t.Fatal(err)
		}
		l, err := ParseLine(text)
		if err != nil {
			t.Fatalf("%q was read, but %v", text, err)
		}
		if l.Host != string(fast.host) || l.Event != string(fast.event) {
			t.Fatalf("%q: host %q, event %q", text, fast.host, fast.event)
		}
		counts := map[string]int32{}
		if err := json.Unmarshal(l.Clock, &counts); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		for k, id := range clock.hosts {
			if name := clock.b.HostName(id); counts[name] != clock.vals[k] {
				t.Fatalf("%q: entry %d of %s", text, clock.vals[k], name)
			}
		}
		if len(clock.hosts) != len(counts) {
			t.Fatalf("%q: %d entries", text, len(clock.hosts))
		}
		want := map[string]computation.Value{}
		flattened("", l.Vars, func(name string, v computation.Value) { want[name] = v })
		for name, v := range want {
			if !got[name].Equal(v) && name != "" {
				t.Fatalf("%q: %s is %v, want %v", text, name, got[name], v)
			}
		}
	})
}

// TestDecoder: reading as it comes gives the same events.
func TestDecoder(t *testing.T) {
	logs := []string{
		"a {\"a\":1}\nx=1\nb {\"b\":1}\ny=[2]\na {\"a\":2, \"b\":1}\ngot it\n",
		"(?<event>.*)\\n(?<host>\\S*) (?<clock>{.*})\n\nx=1\na {\"a\":1}\ny=[2]\nb " +
			"{\"b\":1}\ngot it\na {\"a\":2,\"b\":1}\n",
		`{"host":"a","clock":{"a":1},"event":"x=1","vars":{"x":1}}` + "\n" + `{"hosts":["a","b"]}` +
			"\n" + `{"host":"b","clock":[0,1],"event":"y=[2]","vars":{"y":[2]}}` + "\n\n" +
			`{"host":"a","clock":[2,1],"event":"got it"}` + "\n",
	}
	want := []string{"a map[a:1] map[x:1] x=1", "b map[b:1] map[y:[2]] y=[2]",
		"a map[a:2 b:1] map[] got it"}
	for _, log := range logs {
		var got []string
		d := NewDecoder(strings.NewReader(log), Options{})
		for {
			r, err := d.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Host != "" {
				clock, vars := map[string]int32{}, map[string]computation.Value{}
				for _, en := range r.Clock {
					if en.Count != 0 { // they may be there or not
						clock[en.Host] = en.Count
					}
				}
				for _, v := range r.Vars {
					vars[v.Name] = v.Value
				}
				got = append(got, fmt.Sprintf("%s %v %v %s", r.Host, clock, vars, r.Text))
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s:\n%s", log, d)
		}
	}
	for log, want := range map[string]string{
		"a {\"a\":1}\n":                    "line 1: the second line of the event is missing",
		"x\ny\n":                           "line 1: neither JSON nor an event",
		"{\"host\":\"a\"}\n":               "line 1: the clock is not a JSON object",
		"{\"host\":\"a\",\"clock\":[1]}\n": "line 1: the clock is not an array of 0 counts",
		"{}\n":                             "line 1: neither an event",
	} {
		if _, err := NewDecoder(strings.NewReader(log), Options{}).Next(); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", log, err, want)
		}
	}
}

// TestScanClock: the fast scanner accepts what encoding/json does.
func TestScanClock(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := rapid.MapOf(rapid.StringN(1, 5, -1), rapid.Int32Range(0, 1<<30)).Draw(rt, "clock")
		var sb strings.Builder
		sb.WriteString("{")
		n := 0
		for h, x := range clock {
			if n > 0 {
				sb.WriteString(rapid.SampledFrom([]string{",", ", ", " ,"}).Draw(rt, "sep"))
			}
			fmt.Fprintf(&sb, "%s%s%d", jsonString(h),
				rapid.SampledFrom([]string{":", ": ", " : "}).Draw(rt, "colon"), x)
			n++
		}
		sb.WriteString("}")
		b := computation.NewBuilder("")
		s := clockScanner{b: b}
		for range 2 { // the second time, the hosts are expected in this order
			if err := s.scan([]byte(sb.String())); err != nil {
				rt.Fatalf("%s: %v", sb.String(), err)
			}
			got := map[string]int32{}
			for k, id := range s.hosts {
				got[b.HostName(id)] = s.vals[k]
			}
			if d := cmp.Diff(clock, got); d != "" && len(clock) > 0 {
				rt.Fatalf("%s: %s", sb.String(), d)
			}
		}
	})
}

func jsonString(s string) string {
	text, err := computation.StringValue(s).MarshalJSON()
	if err != nil {
		panic(err)
	}
	return string(text)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a {\"a\":1}\nx=1\nb {\"b\":1,\"a\":1}\ny={\"z\":[1,2]}\n"), "", "", false)
	f.Add([]byte("x=\"1\na {\"a\":1}\n"), "", "", true)
	f.Add(
		[]byte(
			"{\"hosts\":[\"a\"]}\n{\"host\":\"a\",\"clock\":[1],\"vars\":{\"x\":{\"y\":null}}}\n{\"trace\":\"t\"}",
		), "", "", true)
	f.Add([]byte("1 a {\"a\":1} x\n--\n"), `(?<t>\d) (?<host>\w) (?<clock>{.*}) (?<event>.*)`,
		"^-(?<trace>-)", true)
	f.Fuzz(func(t *testing.T, data []byte, re, delim string, lenient bool) {
		execs, err := Read([]Input{{"log", data}}, Options{Regexp: re, Delimiter: delim,
			Lenient: lenient})
		if err != nil {
			_ = err.Error()
			return
		}
		for _, x := range execs {
			if !x.Consistent(x.Final()) ||
				len(x.Linearise(x.Initial(), x.Final())) != x.TotalEvents() {
				t.Fatal("an inconsistent computation was accepted")
			}
		}
		d := NewDecoder(bytes.NewReader(data), Options{})
		for range 1000 {
			if _, err := d.Next(); err != nil {
				break
			}
		}
	})
}
