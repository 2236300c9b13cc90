package unfolding

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
)

var update = flag.Bool("update", false, "draw the pictures of the documentation anew")

// drawn builds a prefix and its picture.
func drawn(t *testing.T, sys system.System) (*Result, *Picture) {
	t.Helper()
	res := run(t, sys, engine.Options{Workers: 1, All: true, KeepTraces: true,
		IgnoreDeadlocks: true, MaxTransitions: 2 * MaxDrawn})
	return res, res.Picture()
}

// well reports whether a text is XML, and returns all of its character data.
func well(t *testing.T, text []byte) string {
	t.Helper()
	var all strings.Builder
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v\n%s", err, text)
		}
		switch tok := tok.(type) {
		case xml.CharData:
			all.Write(tok)
		case xml.StartElement:
			if tok.Name.Local == "script" {
				t.Error("there is a script in the picture")
			}
		}
	}
}

// TestPicture: what a picture shows can be executed, cut-off events lead where they say, and
// nothing lies on something else.
func TestPicture(t *testing.T) {
	systems := map[string]system.System{
		"indexer": benchmark(t, "indexer"), "filesystem": benchmark(t, "filesystem", "N=5"),
		"two beginnings": parse(t, `var x, y int
			thread T(i int) { x += i; y = x; for y > 0 { y-- } }
			init { x = choose(0, 2); go T(1); go T(2) }`),
		"creates": parse(t, `var x int
			thread A() { x++; assert(x < 2, "two") }
			thread B() { go A(); go A() }
			init { go B() }`),
		"loop": parse(t, `var turn int
			thread P(i int) { for turn < 2 { await(turn == i); turn = 1 - i } }
			init { go P(0); go P(1) }`),
	}
	for seed := range uint64(20) {
		m, err := model.Parse("generated.model",
			oracle.Generate(seed, configs[seed%uint64(len(configs))]), model.Options{})
		if err != nil && oracle.LabelRefused(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		systems[fmt.Sprint("generated ", seed)] = m.System()
	}
	for name, sys := range systems {
		t.Run(name, func(t *testing.T) { checkPicture(t, sys) })
	}
}

func checkPicture(t *testing.T, sys system.System) {
	res, p := drawn(t, sys)
	if want := min(res.Events, MaxDrawn); uint64(len(p.Events)) != want {
		t.Errorf("%d events are drawn, want %d", len(p.Events), want)
	}
	m := sys.NewMachine()
	after := func(e *DrawnEvent) string {
		m.Load(sys.Initial()[e.Initial])
		for k, s := range e.Steps {
			if k == len(e.Steps)-1 {
				if name := p.Columns[e.Column].Name; m.ThreadName(s.Thread) != name {
					t.Errorf("an event of %s stands in the column of %s", m.ThreadName(s.Thread),
						name)
				}
			}
			out := m.Step(s.Thread, s.Alt)
			if out.Kind != system.Moved {
				t.Fatalf("%s: step %d of its history is %v", e.Text, k+1, out.Kind)
			}
			if k == len(e.Steps)-1 && (out.Violation != nil) != (e.Violation != "") {
				t.Errorf("%s: the violation that is drawn is %q", e.Text, e.Violation)
			}
		}
		return engine.StateString(m.Encode(nil))
	}
	cuts := uint64(0)
	for i := range p.Events {
		e := &p.Events[i]
		now := after(e)
		if len(e.History) != len(e.Steps)-1 {
			t.Errorf("event %d has %d events before it and %d steps", i+1, len(e.History),
				len(e.Steps))
		}
		for _, f := range e.History {
			if f >= i || p.Events[f].Y >= e.Y {
				t.Errorf("event %d comes before event %d, and is not drawn above it", f+1, i+1)
			}
		}
		var twin int
		switch {
		case e.Cut == "":
			continue
		case e.Cut == "as in the beginning":
			if !slices.ContainsFunc(sys.Initial(), func(s system.State) bool {
				return engine.StateString(s) == now
			}) {
				t.Errorf("event %d does not lead back to the beginning", i+1)
			}
		case e.Cut == "as after another event":
			if res.Events <= MaxDrawn {
				t.Errorf("event %d: %s, but all events are drawn", i+1, e.Cut)
			}
		default:
			if _, err := fmt.Sscanf(e.Cut, "as after event %d", &twin); err != nil {
				t.Fatalf("event %d: %q", i+1, e.Cut)
			}
			if o := &p.Events[twin-1]; o.Cut != "" || after(o) != now {
				t.Errorf("event %d leads to another state than event %d", i+1, twin)
			}
		}
		cuts++
	}
	if res.Events <= MaxDrawn && cuts != res.Cutoffs {
		t.Errorf("%d events are drawn as cut-off, and %d are", cuts, res.Cutoffs)
	}
	// Boxes and conditions, with what they are.
	type box struct {
		x, y, w, h int
		what       string
	}
	var boxes []box
	for i, e := range p.Events {
		boxes = append(boxes, box{e.X, e.Y, e.W, boxHeight, fmt.Sprint("event ", i+1)})
		if c := p.Columns[e.Column]; e.X < c.X || e.X+e.W > c.X+c.Width {
			t.Errorf("event %d is outside of its column", i+1)
		}
	}
	for _, c := range p.Conds {
		boxes = append(boxes, box{c.X, c.Y, c.W, condHeight, c.Text})
	}
	for i, a := range boxes {
		if a.x < 0 || a.y < margin || a.x+a.w > p.Width || a.y+a.h > p.Height {
			t.Errorf("%s is outside of the picture", a.what)
		}
		for _, b := range boxes[:i] {
			if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
				t.Errorf("%s lies on %s", a.what, b.what)
			}
		}
	}
	// Every event takes its thread's condition and makes another one, unless it is cut off.
	kinds := map[string]int{}
	for _, a := range p.Arcs {
		kinds[a.Kind]++
	}
	if n := len(p.Events); kinds["take"] < n || kinds["make"] < n-int(cuts) {
		t.Errorf("%d events have lines %v", n, kinds)
	}
	var b bytes.Buffer
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	text := well(t, b.Bytes())
	for i := range p.Events {
		if !strings.Contains(text, p.Events[i].Title(i, p.Columns[p.Events[i].Column].Name)) {
			t.Errorf("event %d has no tooltip", i+1)
		}
	}
}

// TestPictureEscapes: what is in a model is text in its picture.
func TestPictureEscapes(t *testing.T) {
	_, p := drawn(t, parse(t, `var x int
		thread T() { x = 1; assert(x < 1 && 2 > x, "</title><script>alert(1)</script>&") }
		init { go T() }`))
	var b bytes.Buffer
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if text := well(t, b.Bytes()); !strings.Contains(text,
		"violation: </title><script>alert(1)</script>&") {
		t.Errorf("the message is not to be read: %s", text)
	}
}

// TestPictureOfDocs: the picture of the documentation is that of its model.
func TestPictureOfDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/tutorial/counter.model")
	if err != nil {
		t.Fatal(err)
	}
	_, p := drawn(t, parse(t, string(text)))
	var b bytes.Buffer
	if err := p.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	const file = "../../docs/explore/prefix.svg"
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s is another picture; draw it anew with -update", file)
	}
}
