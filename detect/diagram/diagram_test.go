package diagram

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/detect/computation"
	"cpor/detect/simulate"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func example() *computation.Computation {
	r := simulate.NewRecorder([]string{"p1", "p2", "p3"})
	r.Event(0, "a <local> & odd event")
	m := r.Send(0, "send")
	r.Event(1, "local")
	r.Receive(1, m, "receive")
	back := r.Send(1, "answer")
	r.Receive(0, back, "receive the answer")
	r.Receive(2, back, "receive it, too")
	return r.Computation()
}

func TestGolden(t *testing.T) {
	c := example()
	for name, opt := range map[string]Options{
		"plain": {},
		"cut": {Title: "possibly: yes   p1.x && p2.x", Cut: computation.Cut{2, 2, 0},
			Labels: []string{"x=1", "x=<2>", ""}},
		"order": {Title: "an observation", Order: c.Linearise(c.Initial(), c.Final())},
		"part":  {Cut: computation.Cut{2, 2, 0}, Columns: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := Write(&buf, c, opt); err != nil {
				t.Fatal(err)
			}
			dec := xml.NewDecoder(bytes.NewReader(buf.Bytes()))
			for {
				if _, err := dec.Token(); err == io.EOF {
					break
				} else if err != nil {
					t.Fatalf("not XML: %v", err)
				}
			}
			path := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(path, buf.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), buf.String()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestCutSeparates: events of the cut are left of its line, the others right of
// it, and no message goes backwards.
func TestCutSeparates(t *testing.T) {
	c := simulate.DatabasePartition(4, 30, 1)
	cut := c.Clock(1, 12).Clone()
	d := &drawing{c: c, opt: Options{Cut: cut, Columns: 1000}}
	d.place()
	for i := range c.N() {
		for k := int32(1); k <= c.Events(i); k++ {
			col := d.col[i][k-1]
			if (k <= cut[i]) != (col < d.cutAt) {
				t.Errorf("event %d of %s is in column %d, the cut before %d", k, c.Name(i), col,
					d.cutAt)
			}
			for _, m := range c.Messages(i, k) {
				if d.col[m.From.Process][m.From.Index-1] >= col {
					t.Errorf("message %v goes backwards", m)
				}
			}
		}
	}
}

// TestLarge: thousands of events are drawn, all of them, with the cut in what is
// shown at first; of more, those around the cut.
func TestLarge(t *testing.T) {
	for rounds, all := range map[int]bool{250: true, 7000: false} {
		if testing.Short() && !all {
			continue
		}
		c := simulate.DatabasePartition(4, rounds, 1)
		cut := c.Clock(1, c.Events(1)/2).Clone()
		var buf bytes.Buffer
		if err := Write(&buf, c, Options{Cut: cut}); err != nil {
			t.Fatal(err)
		}
		drawn := strings.Count(buf.String(), "<circle")
		if all && drawn != c.TotalEvents() || !all && (drawn > maxEvents || drawn < maxEvents/2) {
			t.Errorf("%d of %d events are drawn", drawn, c.TotalEvents())
		}
		var x, y, w, h, line int
		view := buf.String()[strings.Index(buf.String(), "viewBox="):]
		if _, err := fmt.Sscanf(view, `viewBox="%d %d %d %d"`, &x, &y, &w, &h); err != nil {
			t.Fatal(err)
		}
		at := strings.Index(buf.String(), `class="cut"`)
		start := strings.LastIndex(buf.String()[:at], "<line")
		if _, err := fmt.Sscanf(buf.String()[start:], `<line x1="%d"`, &line); err != nil ||
			line < x || line > x+w {
			t.Errorf("the cut is at %d, shown is %d to %d (%v)", line, x, x+w, err)
		}
	}
}

// TestInjection: whatever a log says, the elements and attributes of the picture
// are those of the same picture of a harmless log.
func TestInjection(t *testing.T) {
	shape := func(text string) string {
		r := simulate.NewRecorder([]string{text, text + "2"})
		r.Receive(1, r.Send(0, text), text)
		var buf bytes.Buffer
		if err := Write(&buf, r.Computation(), Options{Title: text, Cut: computation.Cut{1, 0},
			Labels: []string{text, text}}); err != nil {
			t.Fatal(err)
		}
		var sb strings.Builder
		dec := xml.NewDecoder(&buf)
		script := false
		for {
			tok, err := dec.Token()
			if err == io.EOF {
				return sb.String()
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			switch x := tok.(type) {
			case xml.StartElement:
				script = x.Name.Local == "script"
				fmt.Fprint(&sb, x.Name.Local)
				for _, a := range x.Attr {
					fmt.Fprint(&sb, " ", a.Name.Local)
				}
				fmt.Fprintln(&sb)
			case xml.CharData:
				if script {
					sb.Write(x)
				}
			case xml.ProcInst, xml.Directive, xml.Comment:
				fmt.Fprintf(&sb, "%T\n", x)
			}
		}
	}
	want := shape("harmless")
	for _, text := range []string{"</title><script>alert(1)</script>", `" onload="alert(1)`,
		"]]></script><script>", "<!--", "&lt;&#60;script&#62;", "\x00\x1b\u2028", "<?xml?>",
		"\xff<"} {
		if d := cmp.Diff(want, shape(text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestErrors(t *testing.T) {
	if err := Write(brokenWriter{}, example(), Options{}); err != os.ErrClosed {
		t.Errorf("error %v", err)
	}
	var buf bytes.Buffer
	if err := Write(&buf, simulate.NewRecorder([]string{"p"}).Computation(),
		Options{Cut: computation.Cut{0}}); err != nil || !strings.Contains(buf.String(), "</svg>") {
		t.Errorf("a computation without events: %v", err)
	}
}
